/** Strokes on a grid of 16. An icon never stands alone: a word is beside it, or in its button's label. */
const paths = {
  check: 'M3 8.5l3.2 3.2L13 4.8',
  cross: 'M4 4l8 8M12 4l-8 8',
  skull: 'M8 2.2a5 5 0 0 0-3 9v2.3h6v-2.3a5 5 0 0 0-3-9zM6.2 7.5h.01M9.8 7.5h.01M7 13.5v-1.4M9 13.5v-1.4',
  clock: 'M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM8 5v3.2l2.2 1.3',
  play: 'M5 3.4v9.2L12.4 8z',
  skip: 'M3.6 8h8.8',
  missed: 'M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM8 4.9v3.6M8 11h.01',
  pause: 'M5.4 3.6v8.8M10.6 3.6v8.8',
  ban: 'M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM4 4l8 8',
  retry: 'M12.8 6.2A5.2 5.2 0 1 0 13 9.4M13 3v3.4H9.6',
  late: 'M2.5 4.5l5 3.5-5 3.5zM8.5 4.5l5 3.5-5 3.5z',
  stop: 'M4.4 4.4h7.2v7.2H4.4z',
  warn: 'M8 2.6l6 10.8H2zM8 6.6v3.2M8 11.6h.01',
  dot: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6z',
  plus: 'M8 3v10M3 8h10',
  search: 'M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4zM10.2 10.2L13.4 13.4',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.4v1.4M8 13.2v1.4M1.4 8h1.4M13.2 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.600l-1 1',
  moon: 'M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.600z',
  overview: 'M2.5 12.500l3.2-4.5 2.6 2.6 5-7',
  jobs: 'M3 4h10M3 8h10M3 12h6',
  runs: 'M2.5 8h2.700l1.6-4.5 2.6 9L11 8h2.5',
  letters: 'M2.5 4h11v8.500h-11zM2.5 4.500L8 9l5.5-4.5',
  load: 'M3 13V8.500M6.3 13V4M9.7 13V7M13 13V3',
  cluster: 'M8 2.500v4M8 6.500L3.5 11M8 6.500l4.5 4.500M3.5 11v2M12.5 11v2M8 6.500v6.5',
  target:
    'M8 2.200a5.8 5.8 0 1 0 0 11.600A5.8 5.8 0 0 0 8 2.200zM8 5.600a2.4 2.4 0 1 0 0 4.8 2.4 2.4 0 0 0 0-4.800z',
  bell: 'M8 2.500a3.8 3.8 0 0 0-3.8 3.800v2.900L3 11.200h10l-1.2-2V6.300A3.8 3.8 0 0 0 8 2.500zM6.6 13.200h2.8',
  audit: 'M4 2.500h8v11H4zM6 5.500h4M6 8h4M6 10.500h2.5',
  key: 'M5.5 6.500a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.400zM7.5 7.300L13 2.800M10.6 4.800l1.8 1.8',
  arrow: 'M3 8h9.500M9 4.500L12.5 8 9 11.5',
  copy: 'M5.5 5.500h7.500v7.500H5.500zM3 10.500V3h7.5',
  filter: 'M2.5 3.500h11L9.5 8.500v4l-3 1v-5z',
} as const

export type IconName = keyof typeof paths

export function Icon({ name, size = 14 }: { name: IconName; size?: number }) {
  return (
    <svg
      className={name === 'dot' || name === 'play' ? 'icon solid' : 'icon'}
      viewBox="0 0 16 16"
      width={size}
      height={size}
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  )
}
