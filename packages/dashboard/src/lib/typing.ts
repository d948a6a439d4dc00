/** Whoever types into a field means the field. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  )
}

/** A dialog that is open has the keyboard. */
export function isElsewhere(event: KeyboardEvent): boolean {
  return isTyping(event.target) || document.querySelector('dialog[open]') !== null
}
