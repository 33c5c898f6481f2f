// Tests uploads to the real command over real sockets: the cost of thirty at once, who may upload, and what
// is left behind.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readdirSync } from "node:fs";
import type { ClientRequest } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { Browser } from "#core/web/test-site.test-support.ts";
import { until } from "../support/until.ts";
import { beginUpload, FOURTEEN_MIB, makeLongFile, upload } from "./upload-request.ts";
import { openUploadSetup, type UploadSetup, watchGrowth } from "./upload-setup.ts";

/** Limit in MiB for an idle service that has released unused memory. Thirty files in memory would be 420. */
const MAX_GROWTH_MIB = 100;
interface UploadKind {
	file: Buffer;
	isChunked?: boolean;
}

const SMALL = Buffer.from("orderId,decision\nA-1,approve\n");

test("thirty uploads at once use little memory, need the right to upload, and leave nothing behind", async (t) => {
	const setup = await openUploadSetup(t, 8);
	const [one, other, third] = setup.owners;
	ok(one !== undefined && other !== undefined && third !== undefined);

	await t.test(
		"the page says what is wrong with a file, even if the browser is still sending it",
		async () => {
			for (const isChunked of [false, true]) {
				// The uploads come from two people, because the service reads only the first upload of each person to
				// its end before it answers.
				const answer = await upload(setup, FOURTEEN_MIB, { by: isChunked ? setup.staff : one, isChunked });
				equal(answer.status, 413);
				match(answer.text, /The file is larger than 10 MB/);
			}
			equal(countJobs(setup), 0);
		},
	);

	await t.test(
		"an upload is refused if the sender is not signed in, has no right to the programme or is on another site",
		async () => {
			const nowhere = { ...setup, path: setup.path.replace(/prg_\w+/, "prg_01KZ0000000000000000000000") };
			deepEqual(
				[
					(await upload(setup, SMALL, { by: null })).status,
					(await upload(nowhere, SMALL, { by: one })).status,
					(await upload(setup, SMALL, { by: one, from: "cross-site" })).status,
				],
				[303, 404, 403],
			);
			equal(countJobs(setup), 0);
			const taken = await upload(setup, SMALL, { by: one });
			deepEqual([taken.status, countJobs(setup)], [303, 1]);
		},
	);

	await t.test(
		"a sender who stalls holds two slots at most, and the slots are free again when the connection ends",
		async (t) => {
			const stalled = [one, one, other, other].map((by) => beginUpload(setup, { by }));
			t.after(() => hangUp(stalled));
			let refused = await upload(setup, SMALL, { by: one });
			await until(async () => {
				refused = await upload(setup, SMALL, { by: one });
				return refused.status === 429;
			});
			match(
				refused.text,
				/Too many files are being uploaded at once: 2 by one person, or 4 in all\. Wait a few seconds/,
			);
			await until(async () => (await upload(setup, SMALL, { by: third })).status === 429);
			hangUp(stalled);
			await until(async () => (await upload(setup, SMALL, { by: one })).status === 303);
			await until(async () => (await upload(setup, SMALL, { by: third })).status === 303);
			equal(setup.running.stderr.includes("a page failed"), false, "nothing of it is our failure");
		},
	);

	await t.test(
		"thirty uploads at once leave the memory as it was, and all slots are free again",
		async (t) => {
			const everybody = [...setup.owners];
			const bursts: readonly [what: string, senders: (Browser | null)[], UploadKind, statuses: string[]][] = [
				["nobody's", [null], { file: FOURTEEN_MIB }, ["303"]],
				["one person's", [one], { file: FOURTEEN_MIB }, ["413", "429"]],
				["of a length not told", everybody, { file: FOURTEEN_MIB, isChunked: true }, ["413", "429"]],
				["read to the end", everybody, { file: makeLongFile() }, ["422", "429"]],
			];
			for (const [what, senders, { file, isChunked = false }, statuses] of bursts) {
				const { growthMib, done } = await watchGrowth(setup.running, () =>
					Promise.all(
						Array.from({ length: 30 }, (_, n) =>
							upload(setup, file, { by: senders[n % senders.length] ?? null, isChunked }).then(
								({ status }) => String(status),
								() => "hung up",
							),
						),
					),
				);
				t.diagnostic(`${what}: ${growthMib} MiB, ${done.join(" ")}`);
				deepEqual([...new Set(done)].filter((outcome) => outcome !== "hung up").toSorted(), statuses, what);
				ok(growthMib < MAX_GROWTH_MIB, `${what}: ${growthMib} MiB`);
			}
			equal((await upload(setup, SMALL, { by: one })).status, 303, "every slot was given back");
			deepEqual(leftOvers(setup), []);
		},
	);

	await t.test(
		"a service that is killed in the middle of an upload leaves nothing of it on the disk",
		async (t) => {
			const stalled = [beginUpload(setup, { by: one }), beginUpload(setup, { by: one })];
			t.after(() => hangUp(stalled));
			await until(async () => (await upload(setup, SMALL, { by: one })).status === 429);
			await until(
				() => leftOvers(setup).length === 0,
				() => "a file keeps its name while it is written",
			);
			setup.running.kill("SIGKILL");
			await setup.running.ended();
			deepEqual(leftOvers(setup), []);
		},
	);
});

function leftOvers({ home }: UploadSetup): string[] {
	return readdirSync(home.folder).filter((name) => name.includes("upload"));
}

function countJobs({ home }: UploadSetup): number {
	const database = new DatabaseSync(home.databasePath, { readOnly: true });
	try {
		return database.prepare("select id from jobs").all().length;
	} finally {
		database.close();
	}
}

function hangUp(sending: readonly ClientRequest[]): void {
	for (const request of sending) request.destroy();
}
