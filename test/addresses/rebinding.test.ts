// Names that change their mind, in short: `npm run addresses -- --rounds N` plays more rounds.

import { ok } from "node:assert/strict";
import { test } from "node:test";
import { noProgress } from "../support/proof.ts";
import { answerWith } from "./corpus/entry.ts";
import { proveRebinding } from "./prove-rebinding.ts";
import { BAD, GOOD, openRebinding } from "./rebinding-setup.ts";

const ROUNDS = 5;
const SEED = 3;

test("names that turn forbidden get not one connection, and those that turn public get their deliveries", async () => {
	const replay = `npm run addresses -- --runs 100 --rounds ${ROUNDS} --seed ${SEED}`;
	const { delivered, refused } = await proveRebinding(ROUNDS, SEED, noProgress, replay);
	ok(delivered > 0 && refused > 0, `${delivered} delivered, ${refused} refused`);
});

test("a call to a forbidden address is noticed, by its canary and by the guard", async () => {
	const setup = await openRebinding();
	try {
		const name = setup.newName();
		setup.zone.set(name, answerWith(GOOD));
		await setup.deliver(await setup.addShops([name]));
		ok(setup.dials.length > 0 && setup.findBroken().length === 0, setup.findBroken().join());
		const [forbidden] = BAD;
		await fetch(setup.url(forbidden)).catch(() => undefined);
		const broken = setup.findBroken().join();
		ok(broken.includes(`${forbidden} was dialled`), broken);
		// Only where this machine has all of the loopback network.
		if (process.platform === "linux") ok(broken.includes(`${forbidden} was called 1 times`), broken);
	} finally {
		await setup.close();
	}
});
