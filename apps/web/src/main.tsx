import { render } from 'preact'
import { App } from './app.js'
import { adoptTokenFromAddress } from './dashboard/service/token.js'
import { loadViews } from './views.js'

adoptTokenFromAddress()
addEventListener('hashchange', () => {
  if (adoptTokenFromAddress()) location.reload()
})

const element = document.getElementById('page')
if (element !== null) render(<App views={await loadViews()} />, element)
