// W1: due deliveries over 100 programmes drain to one fast receiver, results durably stored, beside the bare
// loop. Interleaved: limit, SQLite, PostgreSQL, limit, …

import { rmSync } from "node:fs";
import { join } from "node:path";
import { realClock } from "../src/outside/clock.ts";
import { createLog } from "../src/outside/log.ts";
import { openStore } from "../src/store/open.ts";
import { startPostgres } from "../test/support/postgres.ts";
import { type BenchReceiver, runChild, startReceiver } from "./child.ts";
import { databaseSetting } from "./database.ts";
import { seedDue } from "./seed.ts";
import type { Figure, Scale } from "./workload.ts";

const PROGRAMMES = 100;
/** The bare loop is at its fastest with this many; more connections only cost (64: five microseconds a request). */
const BARE_CONNECTIONS = 16;

interface BareAnswer {
	perSecond: number;
}

interface DrainAnswer extends BareAnswer {
	delivered: number;
	rssMb: number;
}

export async function measureDrain(
	{ deliveries, rounds }: Scale,
	progress: (line: string) => void,
): Promise<Figure[]> {
	const receiver = await startReceiver();
	const postgres = await startPostgres();
	const bare: number[] = [];
	const drains: Record<"SQLite" | "PostgreSQL", DrainAnswer[]> = { SQLite: [], PostgreSQL: [] };
	try {
		for (let round = 1; round <= rounds; round++) {
			const say = (what: string, perSecond: number): void =>
				progress(`W1 round ${round}/${rounds}: ${what} ${Math.round(perSecond)} a second`);
			const limit = await runChild<BareAnswer>("bare-loop.ts", [
				receiver.port,
				receiver.caFile,
				String(deliveries),
				String(BARE_CONNECTIONS),
			]);
			bare.push(limit.perSecond);
			say("bare loop", limit.perSecond);
			const file = join(receiver.folder, `w1-${round}.db`);
			const onSqlite = await drain(`sqlite:${file}`, receiver, deliveries);
			for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
			drains.SQLite.push(onSqlite);
			say("SQLite", onSqlite.perSecond);
			const url = await postgres.createDatabase(`w1_${round}`);
			const onPostgres = await drain(url, receiver, deliveries);
			drains.PostgreSQL.push(onPostgres);
			say("PostgreSQL", onPostgres.perSecond);
		}
	} finally {
		await postgres.stop();
		receiver.stop();
	}
	const limit = Math.max(...bare);
	return [
		{
			kind: "rate",
			workload: "W1",
			what: "bare loop (the limit)",
			perSecond: limit,
			ratio: null,
			reach: null,
			rounds: bare,
		},
		drainFigure("SQLite", drains.SQLite, limit, 0.8),
		drainFigure("PostgreSQL", drains.PostgreSQL, limit, 0.7),
	];
}

async function drain(databaseUrl: string, receiver: BenchReceiver, deliveries: number): Promise<DrainAnswer> {
	const store = openStore(databaseSetting(databaseUrl), {
		clock: realClock,
		log: createLog("warn"),
		name: "ringback-bench",
	});
	await store.migrate(Date.now());
	await seedDue(store, PROGRAMMES, deliveries, `https://127.0.0.1:${receiver.port}/postback`);
	await store.close();
	const answer = await runChild<DrainAnswer>("drain.ts", [databaseUrl, receiver.caFile, String(deliveries)]);
	if (answer.delivered !== deliveries) throw new Error(`${answer.delivered} of ${deliveries} were delivered`);
	return answer;
}

function drainFigure(name: string, answers: readonly DrainAnswer[], limit: number, reach: number): Figure {
	const rounds = answers.map((answer) => answer.perSecond);
	const perSecond = Math.max(...rounds);
	const rssMb = Math.max(...answers.map((answer) => answer.rssMb));
	return {
		kind: "rate",
		workload: "W1",
		what: `drain, ${name}`,
		perSecond,
		ratio: perSecond / limit,
		reach,
		rounds,
		rssMb,
	};
}
