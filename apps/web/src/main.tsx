import { render } from 'preact'
import { App } from './app.js'

const element = document.getElementById('page')
if (element !== null) render(<App />, element)
