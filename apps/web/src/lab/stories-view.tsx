import { useMemo } from 'preact/hooks'
import { oneOf } from '../page/address.js'
import { usePage } from '../page/page-context.js'
import { type FactsOf, STORIES, STORY_IDS, type StoryId } from '../simulation/stories.js'
import type { Words } from '../words/words.js'
import { usePlayback } from './playback/use-playback.js'
import { Timeline } from './timeline/timeline.js'

/** Short texts, each with a scenario. */
export function Stories() {
  const { words, place, linkTo } = usePage()
  const chosen = oneOf(place.params.get('story'), STORY_IDS, 'boundary')
  return (
    <div class="view stories">
      <h1>{words.stories.title}</h1>
      <p class="lead">{words.stories.lead}</p>
      <nav class="story-list" aria-label={words.stories.list}>
        <ol>
          {STORY_IDS.map((id) => (
            <li key={id}>
              <a
                href={linkTo('stories', new Map([['story', id]]))}
                aria-current={id === chosen ? 'true' : undefined}
              >
                {words.stories.texts[id].title}
              </a>
            </li>
          ))}
        </ol>
      </nav>
      <StoryView key={chosen} id={chosen} />
    </div>
  )
}

function StoryView({ id }: { id: StoryId }) {
  const { words, linkTo } = usePage()
  const { scenario, lanes, facts } = useMemo(() => STORIES[id](), [id])
  const playback = usePlayback(scenario)
  const next = STORY_IDS[STORY_IDS.indexOf(id) + 1]
  const { title, paragraphs, hint } = textsOf(words, id, facts as FactsOf<typeof id>)
  return (
    <article data-story={id}>
      <h2>{title}</h2>
      <div class="story-text">
        {paragraphs.map((paragraph) => (
          <p key={paragraph}>{paragraph}</p>
        ))}
        <p class="hint">
          <b>{words.stories.hint}</b> {hint}
        </p>
      </div>
      <Timeline scenario={scenario} lanes={lanes} playback={playback} headings="h3" />
      {next !== undefined && (
        <p class="next-story">
          <a href={linkTo('stories', new Map([['story', next]]))}>
            {words.stories.next(words.stories.texts[next].title)}
          </a>
        </p>
      )}
    </article>
  )
}

function textsOf<K extends StoryId>(words: Words, id: K, facts: FactsOf<K>) {
  const { title, text, hint } = words.stories.texts[id]
  return { title, paragraphs: text(facts), hint: hint(facts) }
}
