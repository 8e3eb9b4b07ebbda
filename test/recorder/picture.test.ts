/** Whatever happens, what the records add up to is what is true. */

import { describe, expect, it } from 'vitest';
import type { InspectionPicture } from '../../src/domain/host/inspection.ts';
import { applyRecord, canvasOf, pictureOf } from '../../src/recorder/picture.ts';
import { scheduleOf } from '../runtime/simulation/simulate.ts';
import { namesOf } from '../runtime/simulation/steps.ts';
import { World } from '../runtime/simulation/world.ts';
import { picturedActors, trueActors } from './live-truth.ts';

const serverCount = 6;

function worldOf(seed: number, records: number): World {
  const servers = namesOf(serverCount);
  return new World({ seed, servers, gatedCount: 2, flapMs: [500, 30_000], bound: null, records });
}

function expectTrue(world: World, picture: InspectionPicture | undefined): void {
  expect(picture).toBeDefined();
  if (picture === undefined) return;
  expect(picturedActors(picture.actors)).toEqual(trueActors(world.root));
  const { servers, troupe } = world.scripted.troupe.snapshot();
  expect(picture.servers).toEqual(servers);
  expect(picture.troupe?.state).toBe(troupe.state);
}

/** Plays a story, looks after each step, and returns the picture of each of these moments. */
async function played(
  world: World,
  seed: number,
  look: (world: World) => void = () => undefined,
): Promise<readonly InspectionPicture[]> {
  const { inspection } = world.scripted.troupe;
  const pictures: InspectionPicture[] = [];
  await world.scripted.settle();
  for (const step of scheduleOf(seed, 40, serverCount).steps) {
    await world.take(step);
    look(world);
    pictures.push(inspection.picture() as InspectionPicture);
  }
  return pictures;
}

async function end({ scripted }: World): Promise<void> {
  const stopped = scripted.troupe.stop();
  await scripted.advance(10_000);
  await stopped;
}

describe('the recorded picture', () => {
  it('matches the actors after every step of a random run', async () => {
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const world = worldOf(seed, 100_000);
      const looks: number[] = [];
      await played(world, seed, () => {
        looks.push(world.scripted.troupe.inspection.last);
        expectTrue(world, world.scripted.troupe.inspection.picture());
      });
      expect(looks.at(-1)).toBeGreaterThan(300);
      await end(world);
      // Only the root is left, and it reports that it is done.
      const left = world.scripted.troupe.inspection.picture()?.actors;
      expect(left).toMatchObject([{ machine: 'troupe', life: 'done', timers: [] }]);
    }
  });

  it('reproduces every moment still covered by the ring, and is undefined outside it', async () => {
    for (const seed of [11, 12, 13, 14]) {
      // So few that most of the story is gone by its end.
      const world = worldOf(seed, 300);
      const { inspection } = world.scripted.troupe;
      const pictures = await played(world, seed, () => {
        const { first, last } = inspection;
        // The oldest moment, and every one after it, add up to now.
        const canvas = canvasOf(inspection.picture(first - 1) as InspectionPicture);
        for (const record of inspection.records(first, last)) applyRecord(canvas, record);
        expect(pictureOf(canvas)).toEqual(inspection.picture());
      });
      const kept = pictures.filter(({ n }) => n >= inspection.first - 1);
      expect(kept.length).toBeGreaterThan(2);
      expect(kept.length).toBeLessThan(pictures.length);
      for (const picture of kept) expect(inspection.picture(picture.n)).toEqual(picture);
      expect(inspection.picture(inspection.first - 2)).toBeUndefined();
      expect(inspection.picture(inspection.last + 1)).toBeUndefined();
      await end(world);
    }
  });

  it('begins with the current state when attached late', async () => {
    const late = new World({
      seed: 21,
      servers: namesOf(serverCount),
      gatedCount: 2,
      flapMs: [500, 30_000],
      bound: null,
    });
    const { inspection } = late.scripted.troupe;
    expect(inspection.isRecording).toBe(false);
    await late.scripted.settle();
    const steps = scheduleOf(21, 40, serverCount).steps;
    for (const step of steps.slice(0, 20)) await late.take(step);
    expect(inspection.last).toBe(0);
    inspection.start();
    inspection.start();
    expect(inspection).toMatchObject({ isRecording: true, first: 1, last: 0 });
    expectTrue(late, inspection.picture());
    for (const step of steps.slice(20)) {
      await late.take(step);
      expectTrue(late, inspection.picture());
    }
    await end(late);
  });
});
