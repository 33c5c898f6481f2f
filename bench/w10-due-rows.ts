// W10 measures how fast an engine finds due deliveries if 20,000 programmes wait and a million rows are
// queued. On PostgreSQL, the reads of the queue are measured again while another connection holds a snapshot
// open, as a dump does.

import pg from "pg";
import { type Database, withStore } from "./database.ts";
import { median } from "./figures.ts";
import { findDue, type Look } from "./find-due.ts";
import { seedDue } from "./seed-due.ts";
import { receiverAt, seedShops } from "./seed-shops.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const REACH_MS = 5;
const REACH_WITH_SNAPSHOT = 2;
const LOOKS = 15;

interface FirstDueScale {
	programmes: number;
	queued: number;
	/** Number of queued deliveries that are delivered while the snapshot is open. */
	passed: number;
}

export const w10DueRows = defineWorkload<FirstDueScale>({
	name: "W10",
	title: "due rows",
	measures:
		"20,000 programmes, 1,000,000 rows: a pass's look at what is due in memory; reading the first due rows of all slots, with an old snapshot ÷ without",
	runsOwnSources: true,
	scales: {
		full: { programmes: 20_000, queued: 1_000_000, passed: 500_000 },
		short: { programmes: 1_000, queued: 10_000, passed: 5_000 },
		smoke: { programmes: 20, queued: 200, passed: 100 },
	},
	async run(scale, tools) {
		const figures: Figure[] = [];
		for (const kind of ["SQLite", "PostgreSQL"] as const) {
			figures.push(...(await tools.withDatabase(kind, (url) => measureOn(kind, url, scale, tools))));
		}
		return figures;
	},
});

async function measureOn(
	kind: Database,
	databaseUrl: string,
	{ programmes, queued, passed }: FirstDueScale,
	tools: Tools,
): Promise<Figure[]> {
	const receiver = await tools.receiver();
	await withStore(databaseUrl, async (store) => {
		tools.say(`${kind}: ${programmes} programmes`);
		const shops = await seedShops(store, programmes, receiver.url);
		const dueAtMs = Date.now() - 1_000;
		const due = (number: number) => ({ receiverId: receiverAt(shops, number), dueAtMs });
		await seedDue(store, queued, due, { say: (line) => tools.say(`${kind}: ${line}`) });
	});
	const before = await timeLooks(databaseUrl);
	const found: Figure[] = [
		{ ...millis(`${kind}: a look in memory`, before, "planMs"), goal: { atMost: REACH_MS } },
		millis(`${kind}: reading the first due rows`, before, "firstDueMs"),
		millis(`${kind}: a pass's ${before[0]?.read ?? 0} deliveries`, before, "readMs"),
	];
	tools.say(`${found.map(({ what, value }) => `${what} ${value.toFixed(1)} ms`).join(", ")}`);
	if (kind === "SQLite") return found;
	const after = await withSnapshot(databaseUrl, async () => {
		await receiver.forget();
		const service = await tools.startService({ databaseUrl, caFile: receiver.caFile, role: "worker" });
		try {
			await receiver.until(passed, (count) => tools.say(`${kind}: ${count} of ${passed} passed`));
		} finally {
			await service.stop();
		}
		return timeLooks(databaseUrl);
	});
	const withSnapshotOpen = (what: string, name: keyof Look): Figure =>
		millis(`${kind}: ${what} with an old snapshot`, after, name);
	const firstDue = withSnapshotOpen("reading the first due rows", "firstDueMs");
	const without = median(before.map(({ firstDueMs }) => firstDueMs));
	return [
		...found,
		firstDue,
		withSnapshotOpen("a pass's deliveries", "readMs"),
		{
			what: `${kind}: the first due rows with ÷ without`,
			value: firstDue.value / without,
			unit: "",
			goal: { atMost: REACH_WITH_SNAPSHOT },
		},
	];
}

function millis(what: string, looks: readonly Look[], name: keyof Look): Figure {
	const rounds = looks.map((look) => look[name]);
	return { what, value: median(rounds), unit: "ms", goal: null, rounds };
}

/** Measures several searches for due deliveries. The first search is not counted, because it fills caches. */
function timeLooks(databaseUrl: string): Promise<Look[]> {
	return withStore(databaseUrl, async (store) => {
		await findDue(store);
		const looks: Look[] = [];
		for (let look = 0; look < LOOKS; look++) looks.push(await findDue(store));
		return looks;
	});
}

async function withSnapshot<Answer>(databaseUrl: string, work: () => Promise<Answer>): Promise<Answer> {
	const client = new pg.Client({ connectionString: databaseUrl });
	await client.connect();
	try {
		await client.query("begin isolation level repeatable read");
		await client.query("select count(*) from programmes");
		return await work();
	} finally {
		await client.end();
	}
}
