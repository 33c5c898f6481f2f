// M1 prepares and issues the statements of 10,000 partners from a million entries, while a shop reports sales. It also
// measures the pages about statements.

import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { DAY_MS } from "#core/domain/time.ts";
import { startSession } from "#core/people/auth.ts";
import { addPartnerPerson } from "#core/store/queries/partner-people.ts";
import { setPassword } from "#core/store/queries/passwords.ts";
import { insertPerson } from "#core/store/queries/people.ts";
import type { Store } from "#core/store/store.ts";
import { createTestSite } from "#core/web/test-site.test-support.ts";
import { monthBefore, monthEndMs, monthIn } from "#modules/accounts/domain/statement.ts";
import { listStatements } from "#modules/accounts/store/statements.ts";
import { findJob, type Job } from "#modules/jobs/store/jobs.ts";
import { realClock } from "../src/outside/clock.ts";
import { createRandom } from "../src/outside/random.ts";
import { type Database, withStore } from "./database.ts";
import { median, ratio } from "./figures.ts";
import { type LoadAnswer, reportSales, writeShops } from "./load-process.ts";
import { residentMb } from "./process-cost.ts";
import { seedMoney } from "./seed-money.ts";
import { BENCH_SEALING_KEY, seedShops } from "./seed-shops.ts";
import type { ServiceProcess } from "./service-process.ts";
import { timePage } from "./time-page.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const SHOPS = 100;
/** Number of connections for sales. A shop reports few sales at the same time. */
const SALE_CONNECTIONS = 2;
const REACH = { issueMs: 60_000, memoryMb: 250, saleSlowdown: 2, pageMs: 100 } as const;
const LOOK_MS = 50;
/** Number of measured requests for each page. */
const LOOKS = 8;

interface MoneyScale {
	partners: number;
	entries: number;
	/** Number of sales of one measurement. */
	sales: number;
	rounds: number;
}

export const m1Money = defineWorkload<MoneyScale>({
	name: "M1",
	title: "money",
	measures: "a million entries of 10,000 partners become statements: time, memory, sales beside it, pages",
	runsOwnSources: true,
	scales: {
		full: { partners: 10_000, entries: 1_000_000, sales: 1_000, rounds: 3 },
		short: { partners: 500, entries: 50_000, sales: 300, rounds: 1 },
		smoke: { partners: 20, entries: 400, sales: 20, rounds: 1 },
	},
	async run(scale, tools) {
		const figures: Figure[] = [];
		for (const kind of ["SQLite", "PostgreSQL"] as const) {
			figures.push(...(await tools.withDatabase(kind, (url) => measureIssue(kind, url, scale, tools))));
		}
		return figures;
	},
});

const SESSION_DEPS = {
	keyRing: createKeyRing([BENCH_SEALING_KEY]),
	publicUrl: "http://ringback.example",
	clock: realClock,
	random: createRandom(),
};
const STAFF = "mira@network.example";
const PARTNER = "pia@blog.example";

async function measureIssue(
	kind: Database,
	databaseUrl: string,
	scale: MoneyScale,
	tools: Tools,
): Promise<Figure[]> {
	const { caFile, url: urlOf } = await tools.receiver();
	const month = monthBefore(monthIn(Date.now(), "UTC"));
	const { shops, cookie } = await withStore(databaseUrl, async (store) => {
		const seeded = await seedShops(store, SHOPS, urlOf);
		await seedMoney(store.db, seeded, { ...scale, atMs: monthEndMs(month, "UTC") - DAY_MS });
		if (store.kind === "postgres") await sql`vacuum analyze`.execute(store.db);
		return { shops: seeded, cookie: await signInStaff(store) };
	});
	const shopsFile = writeShops(tools.folder, shops);
	const more = { PUBLIC_URL: SESSION_DEPS.publicUrl };
	const service = await tools.startService({ databaseUrl, caFile, role: "web", more });
	const report = () => reportSales(service.url, shopsFile, scale.sales, { connections: SALE_CONNECTIONS });
	let issued: Issued;
	let quiet: LoadAnswer[] = [];
	try {
		await report();
		quiet = await repeat(scale.rounds, report);
		issued = await withStore(databaseUrl, (store) => issueBeside(store, service, { cookie, month }, report));
	} finally {
		await service.stop();
	}
	const { prepareMs, issueMs, largestMb, beside } = issued;
	const p99 = (answers: readonly LoadAnswer[]) => median(answers.map(({ p99Ms }) => p99Ms));
	tools.say(
		`${kind}: prepared in ${Math.round(prepareMs)} ms, issued in ${Math.round(issueMs)} ms, ${Math.round(largestMb)} MB; sales p99 ${p99(quiet).toFixed(1)} ms alone, ${p99(beside).toFixed(1)} ms beside it`,
	);
	return [
		{ what: `${kind}: prepare`, value: prepareMs, unit: "ms", goal: null },
		{
			what: `${kind}: prepare and issue`,
			value: prepareMs + issueMs,
			unit: "ms",
			goal: { atMost: REACH.issueMs },
		},
		{ what: `${kind}: largest`, value: largestMb, unit: "MB", goal: { atMost: REACH.memoryMb } },
		ratio(`${kind}: p99 of a sale beside it ÷ alone`, p99(beside) / p99(quiet), {
			atMost: REACH.saleSlowdown,
		}),
		...(await withStore(databaseUrl, (store) => measurePages(kind, store, month, tools))),
	];
}

interface Issued {
	/** Time from sending the form until the preview of the statements is ready. */
	prepareMs: number;
	/** Time from starting the job until the last statement is issued. */
	issueMs: number;
	largestMb: number;
	/** Figures of the sales that were reported while the statements were issued. */
	beside: LoadAnswer[];
}

async function issueBeside(
	store: Store,
	service: ServiceProcess,
	{ cookie, month }: { cookie: string; month: string },
	report: () => Promise<LoadAnswer>,
): Promise<Issued> {
	const post = async (path: string, fields: Record<string, string>): Promise<string> => {
		const answer = await fetch(`${service.url}${path}`, {
			method: "POST",
			headers: { cookie, origin: SESSION_DEPS.publicUrl },
			body: new URLSearchParams(fields),
			redirect: "manual",
		});
		if (answer.status !== 303) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
		return answer.headers.get("location") ?? "";
	};
	let isDone = false;
	let largestMb = 0;
	const beside: LoadAnswer[] = [];
	const watching = (async () => {
		while (!isDone) {
			largestMb = Math.max(largestMb, residentMb(service.pid));
			await sleep(LOOK_MS);
		}
	})();
	const selling = (async () => {
		while (!isDone) beside.push(await report());
	})();
	try {
		const startedAt = performance.now();
		const path = await post("/statements/prepare", { month });
		const job = path.split("/").at(-1) ?? "";
		await waitFor(store, job, "previewed");
		const previewedAt = performance.now();
		await post(`${path}/apply`, {});
		await waitFor(store, job, "done");
		const endedAt = performance.now();
		return { prepareMs: previewedAt - startedAt, issueMs: endedAt - previewedAt, largestMb, beside };
	} finally {
		isDone = true;
		await Promise.all([watching, selling]);
	}
}

async function waitFor(store: Store, publicId: string, state: Job["state"]): Promise<void> {
	for (;;) {
		const job = await findJob(store.db, null, publicId);
		if (job?.state === state) return;
		if (job?.failure) throw new Error(`the job failed: ${job.failure}`);
		await sleep(LOOK_MS);
	}
}

async function repeat<Value>(rounds: number, work: () => Promise<Value>): Promise<Value[]> {
	const values: Value[] = [];
	for (let round = 0; round < rounds; round++) values.push(await work());
	return values;
}

/** Adds a member of staff and returns the cookie of a session of that person. */
function signInStaff(store: Store): Promise<string> {
	return store.transact(async (trx) => {
		const created_at_ms = Date.now();
		const person = await insertPerson(trx, {
			public_id: "usr_m1",
			email: STAFF,
			kind: "staff",
			created_at_ms,
		});
		if (person === undefined) throw new Error("a new database has no people");
		await setPassword(trx, person.id, "hash", created_at_ms);
		const visitor = { address: "127.0.0.1", userAgent: "" };
		const setCookie = await startSession(trx, { ...SESSION_DEPS, store }, person.id, visitor);
		return setCookie.split(";", 1)[0] ?? "";
	});
}

async function measurePages(kind: Database, store: Store, month: string, tools: Tools): Promise<Figure[]> {
	const site = createTestSite(store, {
		change: { clock: realClock, keyRing: createKeyRing([BENCH_SEALING_KEY]) },
	});
	const mira = await site.addStaff("noor@network.example");
	const programme = await site.addProgramme("Nordlicht");
	const pia = await site.addOwner(programme, PARTNER);
	await addPartnerPerson(store.db, 1, pia.id);
	const { rows } = await listStatements(store.reader, { partnerId: 1 }, { limit: 1 });
	const own = `/partner/ptn_1/statements`;
	const staffPaths = [
		"/statements",
		`/statements?month=${month}&state=to_pay`,
		`/statements?month=${month}&state=paid`,
		"/statements?month=all&state=carried",
	];
	const partnerPaths = [own, `${own}/${rows[0]?.public_id}`, "/partner/ptn_1/earnings"];
	const figures: Figure[] = [];
	for (const [person, paths] of [
		[mira, staffPaths],
		[pia, partnerPaths],
	] as const) {
		const browser = await site.signIn(person);
		for (const path of paths) {
			const rounds = await timePage(browser, path, LOOKS);
			const what = `${kind}: ${path.replace(/stm_\w+/, "…")}`;
			tools.say(`${what} ${median(rounds).toFixed(1)} ms`);
			figures.push({ what, value: median(rounds), unit: "ms", goal: { atMost: REACH.pageMs }, rounds });
		}
	}
	return figures;
}
