// The moment in which restored files get their names: whatever fails in it, what was there is there again or is told of,
// and nothing that was kept earlier is overwritten.

import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import fs, { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { placeDurably } from "../../src/outside/durable-file.ts";
import { swapFiles } from "../../src/service/swap-files.ts";
import { makeFolder } from "../support/run-folder.ts";

const AT_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
const STAMP = "before-2026-01-02T03-04-05Z";
const OLD = { "a.db": "old database", "a.db-wal": "old log", "a.db.key": "old key" };
const NEW = { draft: "new database", "key-draft": "new key" };

test("what was there is kept under one name with the time, and never over what was kept in that second", (t) => {
	const spot = openSpot(t, "plain");
	spot.write({ ...OLD, ...NEW });
	deepEqual(spot.put(), [`a.db.${STAMP}`, `a.db.${STAMP}-wal`, `a.db.${STAMP}.key`]);
	const first = {
		[`a.db.${STAMP}`]: "old database",
		[`a.db.${STAMP}-wal`]: "old log",
		[`a.db.${STAMP}.key`]: "old key",
	};
	deepEqual(spot.read(), { "a.db": "new database", "a.db.key": "new key", ...first });
	spot.write({ draft: "newer database", "key-draft": "newer key" });
	deepEqual(spot.put(), [`a.db.${STAMP}-2`, `a.db.${STAMP}-2.key`]);
	deepEqual(spot.read(), {
		"a.db": "newer database",
		"a.db.key": "newer key",
		...first,
		[`a.db.${STAMP}-2`]: "new database",
		[`a.db.${STAMP}-2.key`]: "new key",
	});
});

test("a folder whose name has a $ in it is a folder as any other", (t) => {
	const spot = openSpot(t, "$&-$'-$1");
	spot.write({ ...OLD, ...NEW });
	deepEqual(spot.put(), [`a.db.${STAMP}`, `a.db.${STAMP}-wal`, `a.db.${STAMP}.key`]);
});

for (const hasLinks of [true, false]) {
	const where = hasLinks ? "" : " where there are no hard links";
	for (const failing of ["a.db", "a.db.key"]) {
		test(`when ${failing} cannot be put in place all is left as it was${where}`, (t) => {
			const spot = openSpot(t, "failing");
			spot.write({ ...OLD, ...NEW });
			if (!hasLinks) withoutLinks(t);
			failRenames(t, (from, to) => from.endsWith("draft") && to === spot.path(failing));
			throws(
				() => spot.put(),
				/^Error: The backup was not put in place: the disk is full\. All is as it was\.$/,
			);
			const { draft, "key-draft": keyDraft, ...left } = spot.read();
			deepEqual(left, OLD);
			equal(draft, NEW.draft);
			equal(keyDraft, failing === "a.db" ? undefined : NEW["key-draft"]);
		});
	}

	test(`a first database that cannot be put in place leaves no key${where}`, (t) => {
		const spot = openSpot(t, "first");
		spot.write(NEW);
		if (!hasLinks) withoutLinks(t);
		failRenames(t, (_, to) => to === spot.path("a.db"));
		throws(() => spot.put(), /All is as it was\.$/);
		deepEqual(spot.read(), { draft: NEW.draft });
	});
}

test("without hard links it is kept all the same, and not over what was kept", (t) => {
	const spot = openSpot(t, "no-links");
	spot.write({ ...OLD, ...NEW, [`a.db.${STAMP}.key`]: "kept earlier" });
	withoutLinks(t);
	deepEqual(spot.put(), [`a.db.${STAMP}-2`, `a.db.${STAMP}-2-wal`, `a.db.${STAMP}-2.key`]);
	deepEqual(spot.read(), {
		"a.db": "new database",
		"a.db.key": "new key",
		[`a.db.${STAMP}.key`]: "kept earlier",
		[`a.db.${STAMP}-2`]: "old database",
		[`a.db.${STAMP}-2-wal`]: "old log",
		[`a.db.${STAMP}-2.key`]: "old key",
	});
});

test("what cannot be put back is named, with where it belongs", (t) => {
	const spot = openSpot(t, "stuck");
	spot.write({ "a.db": "old database", ...NEW });
	withoutLinks(t);
	const path = spot.path("a.db");
	failRenames(t, (_, to) => to === path);
	throws(
		() => spot.put(),
		new RegExp(
			`could not be put back, and is kept: before you start the service, rename ${path}\\.${STAMP} to ${path}\\.$`,
		),
	);
	deepEqual(spot.read(), { [`a.db.${STAMP}`]: "old database", draft: NEW.draft });
});

test("a file that is placed without hard links takes no name that is taken, and none when it fails", async (t) => {
	const spot = openSpot(t, "placed");
	spot.write({ one: "1", two: "2" });
	withoutLinks(t);
	equal(await placeDurably(spot.path("one"), spot.path("two")), false);
	deepEqual(spot.read(), { one: "1", two: "2" });
	equal(await placeDurably(spot.path("one"), spot.path("three")), true);
	deepEqual(spot.read(), { three: "1", two: "2" });
	failRenames(t, () => true);
	await rejects(placeDurably(spot.path("two"), spot.path("four")), { code: "ENOSPC" });
	deepEqual(spot.read(), { three: "1", two: "2" });
});

function openSpot(t: TestContext, name: string) {
	const home = makeFolder("swap");
	const folder = join(home, name);
	fs.mkdirSync(folder);
	t.after(() => rmSync(home, { recursive: true }));
	const path = (file: string) => join(folder, file);
	return {
		path,
		write(files: Readonly<Record<string, string>>) {
			for (const [file, text] of Object.entries(files)) writeFileSync(path(file), text);
		},
		read: (): Record<string, string> =>
			Object.fromEntries(readdirSync(folder).map((file) => [file, readFileSync(path(file), "utf8")])),
		put: () =>
			swapFiles(
				{ draft: path("draft"), path: path("a.db") },
				{ draft: path("key-draft"), path: path("a.db.key") },
				AT_MS,
			).map((kept) => kept.slice(folder.length + 1)),
	};
}

/** As on FAT: Linux says that it is not permitted. */
function withoutLinks(t: TestContext): void {
	const refuse = () => Object.assign(new Error("EPERM: operation not permitted, link"), { code: "EPERM" });
	const sync = t.mock.method(fs, "linkSync", () => {
		throw refuse();
	});
	const later = t.mock.method(promises, "link", () => Promise.reject(refuse()));
	applyMocks(t, [sync.mock, later.mock]);
}

function failRenames(t: TestContext, isFailing: (from: string, to: string) => boolean): void {
	const real = fs.renameSync;
	const renaming = t.mock.method(fs, "renameSync", (from: string, to: string) => {
		if (isFailing(from, to)) throw Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
		real(from, to);
	});
	applyMocks(t, [renaming.mock]);
}

/** Those who imported a function by its name see another one only after this. */
function applyMocks(t: TestContext, mocks: readonly { restore(): void }[]): void {
	syncBuiltinESMExports();
	t.after(() => {
		for (const mock of mocks) mock.restore();
		syncBuiltinESMExports();
	});
}
