/** The steps that searches have taken since the start. Tests read it: no search may run away. */
export const effort = { steps: 0 }

/** No search for one tick takes more steps than this, whatever the rule; most take fewer than ten. */
export const longestSearch = 200_000
