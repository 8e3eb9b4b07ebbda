/** A picture of a chart, with the states of one actor lit and the parts around them unfolded. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { PicturedActor } from '../../../../src/domain/host/inspection.ts';
import type { MachineFacts, PictureFacts } from '../../model/chart-facts.ts';
import {
  type FoldChoices,
  foldingsOf,
  narrowPixels,
  type PictureScope,
  pictureFile,
  unfoldedInOverview,
  unfoldedParts,
  unfoldingWay,
} from '../../model/folding.ts';
import { usePage } from '../../state/store.ts';
import { Empty } from '../controls.tsx';
import { useFrame } from '../use-frame.ts';
import { ChartStage } from './stage.tsx';

export interface PicturesProps {
  readonly actor: PicturedActor;
  readonly machine: MachineFacts;
  readonly isFork: boolean;
}

/** A picture, and the actor shown in it. */
export interface Shown extends PicturesProps {
  readonly picture: PictureFacts;
}

/** A picture with the actor's active states, the parts around them unfolded. */
export function ActorPicture(props: Shown) {
  const { picture, actor } = props;
  const body = useRef<HTMLDivElement>(null);
  const { width, height } = useFrame(body);
  const isDetailed = usePage((state) => state.isDetailed);
  const scope = isDetailed ? 'details' : width < narrowPixels ? 'narrow' : 'overview';
  const [choices, setChoices] = useState<FoldChoices>(new Map());
  const way = usePage((state) => (state.way?.actor === actor.actor ? state.way : undefined));
  const unfolded = useMemo(() => {
    const { to, found } = way ?? {};
    const shown = to === undefined ? actor.leaves : [...actor.leaves, to];
    const steps = found?.steps?.flatMap(({ leaves }) => leaves) ?? [];
    const passed = steps.length === 0 ? [] : [...shown, ...steps];
    const wanted = unfoldingWay(choices, picture.parts, passed);
    return isDetailed
      ? unfoldedParts(picture, shown, wanted)
      : unfoldedInOverview(picture, shown, wanted, { scope, frame: { width, height } });
  }, [picture, actor.leaves, way?.to, way?.found, choices, isDetailed, scope, width, height]);
  const file = pictureFile(picture, unfolded, scope);
  const { text, isMissing } = useDrawn(picture, file, scope);
  return (
    <div class="chart-body" ref={body}>
      {isMissing ? (
        <Empty title="No picture">{`Cannot load charts/${file}.`}</Empty>
      ) : text === undefined || width === 0 ? (
        <div class="chart-stage" />
      ) : (
        <ChartStage
          {...props}
          text={text}
          scope={scope}
          unfolded={unfolded}
          onFold={(path, isUnfolded) => setChoices(new Map([...choices, [path, isUnfolded]]))}
        />
      )}
    </div>
  );
}

/** Loaded drawings by file. */
const drawn = new Map<string, string>();

/** The text of a drawing; all foldings of a picture are loaded at once, so that folding is instant. */
function useDrawn(
  picture: PictureFacts,
  file: string,
  scope: PictureScope,
): { readonly text: string | undefined; readonly isMissing: boolean } {
  const [, setRead] = useState(0);
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    const files = foldingsOf(picture.parts).map((unfolded) =>
      pictureFile(picture, unfolded, scope),
    );
    for (const each of files.filter((name) => !drawn.has(name))) {
      fetchText(`charts/${each}`).then(
        (found) => {
          drawn.set(each, found);
          setRead((count) => count + 1);
        },
        () => setMissing(true),
      );
    }
  }, [picture, scope]);
  const text = drawn.get(file);
  return { text, isMissing: isMissing && text === undefined };
}

async function fetchText(path: string): Promise<string> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(String(response.status));
  return response.text();
}
