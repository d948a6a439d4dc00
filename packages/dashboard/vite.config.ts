import { defaultClientConditions, defineConfig } from 'vite'

export default defineConfig({
  resolve: { conditions: ['carillon:source', ...defaultClientConditions] },
  build: {
    target: 'es2022',
    // Fonts and images as data: would need a wider content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // While the pages are developed: the API of a server that runs beside.
  server: { proxy: { '/api': 'http://127.0.0.1:7420', '/readyz': 'http://127.0.0.1:7420' } },
})
