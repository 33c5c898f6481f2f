// W12 measures the cost of a conversion with one delivered callback at full load: processor time of the
// service and of PostgreSQL, statements, and bytes in the SQLite file with all indexes.

import { sql } from "kysely";
import { readUsedBytes } from "#core/store/sqlite/file.ts";
import { readPostgresMicros } from "./call-cost.ts";
import { type Database, withStore } from "./database.ts";
import { untilStored } from "./drain.ts";
import { least } from "./figures.ts";
import { reportSales, writeShops } from "./load-process.ts";
import { cpuMicros } from "./process-cost.ts";
import { seedShops } from "./seed-shops.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const SHOPS = 100;
const REACH = { serviceMs: 0.6, postgresMs: 0.5, statements: 1, diskBytes: 1_050 } as const;

interface CostScale {
	conversions: number;
	warmUp: number;
	rounds: number;
}

interface Cost {
	serviceMs: number;
	postgresMs: number;
	statements: number;
	/** Bytes in the database file. Zero on PostgreSQL, which reuses space too late for a short measurement. */
	diskBytes: number;
	perSecond: number;
}

export const w12Cost = defineWorkload<CostScale>({
	name: "W12",
	title: "cost",
	measures: "processor time, statements and disk of a conversion with one delivered callback, at full load",
	scales: {
		full: { conversions: 20_000, warmUp: 4_000, rounds: 3 },
		short: { conversions: 3_000, warmUp: 1_000, rounds: 1 },
		smoke: { conversions: 100, warmUp: 20, rounds: 1 },
	},
	async run(scale, tools) {
		const figures: Figure[] = [];
		for (const kind of ["SQLite", "PostgreSQL"] as const) {
			const costs: Cost[] = [];
			for (let round = 1; round <= scale.rounds; round++) {
				const cost = await measureCost(kind, scale, tools);
				costs.push(cost);
				const { serviceMs, postgresMs, statements, diskBytes, perSecond } = cost;
				tools.say(
					`round ${round} of ${scale.rounds}: ${kind} service ${serviceMs.toFixed(2)} ms, database ${postgresMs.toFixed(2)} ms, ${statements.toFixed(2)} statements, ${Math.round(diskBytes)} bytes; ${Math.round(perSecond)} a second`,
				);
			}
			figures.push(...figuresOf(kind, costs));
		}
		return figures;
	},
});

function measureCost(kind: Database, { conversions, warmUp }: CostScale, tools: Tools): Promise<Cost> {
	return tools.withDatabase(kind, async (databaseUrl) => {
		const receiver = await tools.receiver();
		await receiver.forget();
		const shops = await withStore(databaseUrl, (store) => seedShops(store, SHOPS, receiver.url));
		const shopsFile = writeShops(tools.folder, shops);
		const service = await tools.startService({ databaseUrl, caFile: receiver.caFile, role: "all" });
		try {
			await reportSales(service.url, shopsFile, warmUp);
			await receiver.until(warmUp);
			await untilStored(databaseUrl);
			const before = await readCosts(kind, databaseUrl, service.pid);
			const startedAt = performance.now();
			await reportSales(service.url, shopsFile, conversions);
			await receiver.until(warmUp + conversions);
			await untilStored(databaseUrl);
			const seconds = (performance.now() - startedAt) / 1_000;
			const after = await readCosts(kind, databaseUrl, service.pid);
			return {
				serviceMs: (after.serviceMicros - before.serviceMicros) / 1_000 / conversions,
				postgresMs: (after.postgresMicros - before.postgresMicros) / 1_000 / conversions,
				statements: (after.statements - before.statements) / conversions,
				diskBytes: (after.diskBytes - before.diskBytes) / conversions,
				perSecond: conversions / seconds,
			};
		} finally {
			await service.stop();
		}
	});
}

interface Costs {
	serviceMicros: number;
	postgresMicros: number;
	statements: number;
	diskBytes: number;
}

/** Reads the costs. They include the statements of this function, a few among thousands. */
async function readCosts(kind: Database, databaseUrl: string, servicePid: number): Promise<Costs> {
	const serviceMicros = cpuMicros(servicePid);
	if (kind === "SQLite") {
		const diskBytes = readUsedBytes(databaseUrl.slice("sqlite:".length));
		return { serviceMicros, postgresMicros: 0, statements: 0, diskBytes };
	}
	return withStore(databaseUrl, async ({ db }) => {
		await sql`create extension if not exists pg_stat_statements`.execute(db);
		// The statements that begin and end a transaction are counted as well, because they are round trips, too.
		const { rows } = await sql<{ calls: number }>`
			select coalesce(sum(calls), 0)::float8 as calls from pg_stat_statements
			where dbid = (select oid from pg_database where datname = current_database())
				and toplevel`.execute(db);
		const postgresMicros = await readPostgresMicros(databaseUrl);
		return { serviceMicros, postgresMicros, statements: rows[0]?.calls ?? 0, diskBytes: 0 };
	});
}

function figuresOf(kind: Database, costs: readonly Cost[]): Figure[] {
	const figure = (what: string, name: keyof Cost, unit: Figure["unit"], goal: number | null): Figure => {
		const rounds = costs.map((cost) => cost[name]);
		const atMost = goal === null ? null : { atMost: goal };
		return { what: `${kind}: ${what}`, value: least(rounds), unit, goal: atMost, rounds };
	};
	const service = figure("processor time of the service", "serviceMs", "ms", REACH.serviceMs);
	if (kind === "SQLite") return [service, figure("disk", "diskBytes", "bytes", REACH.diskBytes)];
	return [
		service,
		figure("processor time of PostgreSQL", "postgresMs", "ms", REACH.postgresMs),
		figure("statements", "statements", "statements", REACH.statements),
	];
}
