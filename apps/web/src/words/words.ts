import { en, type Words } from './en.js'
import { ko } from './ko.js'
import type { Language } from './language.js'

export type { Words }

export const WORDS: Record<Language, Words> = { en, ko }
