import { createRoot } from 'react-dom/client'
import { App } from './app.js'
import { applyTheme, storedTheme } from './lib/theme.js'

applyTheme(storedTheme())
const place = document.getElementById('app')
if (place !== null) createRoot(place).render(<App />)
