import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { openArchiveFolder } from "./archive-folder.ts";

function makeFolder(t: TestContext): string {
	const folder = mkdtempSync(join(tmpdir(), "ringback-archive-"));
	t.after(() => rmSync(folder, { recursive: true }));
	return folder;
}

async function* many(...lines: readonly string[]): AsyncIterable<string> {
	yield* lines;
}

test("lines are in a compressed file that only its owner reads, under a name of its own", async (t) => {
	const folder = join(makeFolder(t), "made", "when missing");
	const archive = openArchiveFolder(folder);
	const first = await archive.store("conversions-2026", many('{"a":1}', '{"b":"ü"}'));
	const second = await archive.store("conversions-2026", many("{}"));
	deepEqual(readdirSync(folder).toSorted(), [first, second].toSorted(), "and nothing else is there");
	match(first, /^conversions-2026-\d+-[0-9a-f]{12}\.jsonl\.gz$/);
	equal(gunzipSync(readFileSync(join(folder, first))).toString(), '{"a":1}\n{"b":"ü"}\n');
	equal(statSync(join(folder, first)).mode & 0o777, 0o600);
	equal(statSync(folder).mode & 0o777, 0o700);
});

test("when the lines end in an error there is no file, whole or in part", async (t) => {
	const folder = makeFolder(t);
	async function* broken(): AsyncIterable<string> {
		yield "one";
		throw new Error("the database went away");
	}
	await rejects(openArchiveFolder(folder).store("x", broken()), /went away/);
	deepEqual(readdirSync(folder), []);
});

test("a folder that cannot be made is an error at once", (t) => {
	const path = join(makeFolder(t), "file");
	writeFileSync(path, "");
	throws(() => openArchiveFolder(path));
});
