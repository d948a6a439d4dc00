/** Somebody copied what was shown to them in place of a header's or a variable's value. */
export const hiddenProblem = {
  message: 'This is what is shown in place of a value, not the value.',
  hint: 'Give the value itself. Operators and admins see it.',
}
