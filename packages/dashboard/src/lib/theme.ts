export type Theme = 'dark' | 'light'

const slot = 'carillon.theme'

/** What was chosen here, or else what the system prefers. */
export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(slot)
    if (stored === 'dark' || stored === 'light') return stored
  } catch {
    // Without storage the system decides.
  }
  return matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark'
}

export function applyTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme
  dispatchEvent(new Event('carillon:theme'))
}

export function chooseTheme(theme: Theme): void {
  try {
    localStorage.setItem(slot, theme)
  } catch {
    // It holds until the page is left.
  }
  applyTheme(theme)
}
