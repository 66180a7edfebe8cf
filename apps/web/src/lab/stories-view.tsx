import { useMemo } from 'preact/hooks'
import { oneOf } from '../address.js'
import { usePage } from '../page-context.js'
import type { Words } from '../words/words.js'
import { type FactsOf, STORIES, STORY_IDS, type StoryId } from './stories.js'
import { Timeline } from './timeline.js'
import { usePlayback } from './use-playback.js'

/** One scenario each, with a short text about it. */
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
  const { words } = usePage()
  const { scenario, lanes, facts } = useMemo(() => STORIES[id](), [id])
  const playback = usePlayback(scenario)
  const { title, paragraphs, notice } = tell(words, id, facts as FactsOf<typeof id>)
  return (
    <article data-story={id}>
      <h2>{title}</h2>
      <div class="story-text">
        {paragraphs.map((paragraph) => (
          <p key={paragraph}>{paragraph}</p>
        ))}
        <p class="notice">
          <b>{words.stories.notice}</b> {notice}
        </p>
      </div>
      <Timeline scenario={scenario} lanes={lanes} playback={playback} />
    </article>
  )
}

function tell<K extends StoryId>(words: Words, id: K, facts: FactsOf<K>) {
  const { title, text, notice } = words.stories.texts[id]
  return { title, paragraphs: text(facts), notice: notice(facts) }
}
