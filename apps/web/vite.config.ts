import { defineConfig } from 'vite'

export default defineConfig({
  // Relative addresses: the same files are served at / by the service, and from any folder as a static site.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    // Every supported browser has module preloads.
    modulePreload: { polyfill: false },
    // The content security policy allows only files of the page itself.
    assetsInlineLimit: 0,
  },
})
