import { Dialog } from './ui/dialog.js'
import { views } from './views.js'

const keys: [string, string][] = [
  ['/', 'search'],
  ['j  k', 'next row, row before'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['Ctrl K  ⌘ K', 'command palette'],
  ['?', 'this list'],
  ['Esc', 'close, clear the selection'],
]

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <div className="help">
        <table>
          <caption className="unseen">Keys</caption>
          <tbody>
            {keys.map(([key, what]) => (
              <tr key={key}>
                <th scope="row">
                  {key.split('  ').map((one) => (
                    <kbd key={one}>{one}</kbd>
                  ))}
                </th>
                <td>{what}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <table>
          <caption className="unseen">Keys that lead to views</caption>
          <tbody>
            {views.map(({ key, title }) => (
              <tr key={key}>
                <th scope="row">
                  <kbd>g</kbd>
                  <kbd>{key}</kbd>
                </th>
                <td>{title}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Dialog>
  )
}
