// W14 measures signed sales of a large shop while six people of that shop read its pages, compared with the
// same sales alone, on SQLite. Everything runs in one service process, as in a small installation.

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { startSession } from "#core/people/auth.ts";
import { setPassword } from "#core/store/queries/passwords.ts";
import { insertPerson } from "#core/store/queries/people.ts";
import { addToProgramme } from "#core/store/queries/programme-people.ts";
import type { Store } from "#core/store/store.ts";
import { realClock } from "../src/outside/clock.ts";
import { createRandom } from "../src/outside/random.ts";
import { endChild, endWithUs } from "./child-process.ts";
import { withStore } from "./database.ts";
import { best, least, rate, ratio } from "./figures.ts";
import { type LoadAnswer, reportSales, writeShops } from "./load-process.ts";
import type { PagesRead, ReadOrder } from "./read-pages.ts";
import { seedHistory } from "./seed-history.ts";
import { BENCH_SEALING_KEY, type SeededShop, seedShops } from "./seed-shops.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload } from "./workload.ts";

const READERS = 6;
/**
 * Number of connections for sales. A shop reports few sales at the same time, and more connections would
 * measure how sales are batched.
 */
const SALE_CONNECTIONS = 2;
/** Maximum median time of the sales while pages are read, as a multiple of their median time alone. */
const MAX_SLOWDOWN = 4;

interface ReadersScale {
	/** Number of conversions of the shop whose pages are read. */
	conversions: number;
	salesAlone: number;
	salesBesideReaders: number;
	rounds: number;
}

export const w14Readers = defineWorkload<ReadersScale>({
	name: "W14",
	title: "readers",
	measures: "signed sales beside six readers of a large shop's pages ÷ the same sales alone, on SQLite",
	scales: {
		full: { conversions: 90_000, salesAlone: 4_000, salesBesideReaders: 1_000, rounds: 3 },
		short: { conversions: 90_000, salesAlone: 2_000, salesBesideReaders: 400, rounds: 2 },
		smoke: { conversions: 500, salesAlone: 50, salesBesideReaders: 20, rounds: 1 },
	},
	run: (scale, tools) =>
		tools.withDatabase("SQLite", async (databaseUrl) => {
			const { caFile, url: urlOf } = await tools.receiver();
			const { shop, cookies } = await withStore(databaseUrl, (store) =>
				seedLargeShop(store, scale.conversions, urlOf, tools.say),
			);
			const shopsFile = writeShops(tools.folder, [shop]);
			const service = await tools.startService({
				databaseUrl,
				caFile,
				role: "web",
				more: { PUBLIC_URL: COOKIE_DEPS.publicUrl },
			});
			try {
				const order: ReadOrder = { url: service.url, cookies, paths: pagesOf(shop, scale.conversions) };
				return await measureRounds(scale, tools, order, (sales) =>
					reportSales(service.url, shopsFile, sales, { connections: SALE_CONNECTIONS }),
				);
			} finally {
				await service.stop();
			}
		}),
});

async function measureRounds(
	{ salesAlone, salesBesideReaders, rounds }: ReadersScale,
	{ say }: Tools,
	order: ReadOrder,
	report: (sales: number) => Promise<LoadAnswer>,
) {
	const alone: LoadAnswer[] = [];
	const beside: LoadAnswer[] = [];
	const pagesPerSecond: number[] = [];
	// The first round is not measured, because it compiles the code and fills the caches.
	await report(salesBesideReaders);
	await readPagesDuring(order, () => report(salesBesideReaders));
	for (let round = 1; round <= rounds; round++) {
		const quiet = await report(salesAlone);
		const { pages, answer: busy } = await readPagesDuring(order, () => report(salesBesideReaders));
		alone.push(quiet);
		beside.push(busy);
		pagesPerSecond.push(pages.perSecond);
		say(
			`round ${round} of ${rounds}: alone ${describe(quiet)}; beside readers ${describe(busy)}, ` +
				`${Math.round(pages.perSecond)} pages a second (p50 ${pages.p50Ms.toFixed(0)} ms, p99 ${pages.p99Ms.toFixed(0)} ms)`,
		);
	}
	const medians = (answers: readonly LoadAnswer[]) => answers.map(({ p50Ms }) => p50Ms);
	const rates = (answers: readonly LoadAnswer[]) => answers.map(({ perSecond }) => perSecond);
	return [
		rate("sales alone", rates(alone)),
		rate("sales beside readers", rates(beside)),
		rate("pages beside sales", pagesPerSecond),
		{ what: "p50 of a sale alone", value: least(medians(alone)), unit: "ms", goal: null } as const,
		{ what: "p50 of a sale beside readers", value: least(medians(beside)), unit: "ms", goal: null } as const,
		ratio("p50 of a sale beside readers ÷ alone", least(medians(beside)) / least(medians(alone)), {
			atMost: MAX_SLOWDOWN,
		}),
		ratio("sales beside readers ÷ alone", best(rates(beside)) / best(rates(alone)), null),
	];
}

function describe({ perSecond, p50Ms, p99Ms }: LoadAnswer): string {
	return `${Math.round(perSecond)} sales a second (p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms)`;
}

/** Runs `work` while the readers read pages in a separate process. */
async function readPagesDuring<Answer>(
	order: ReadOrder,
	work: () => Promise<Answer>,
): Promise<{ pages: PagesRead; answer: Answer }> {
	const child = fork(join(import.meta.dirname, "read-pages.ts"));
	endWithUs(child);
	try {
		child.send(order);
		await once(child, "message");
		const answer = await work();
		child.send("stop");
		const [pages]: PagesRead[] = await once(child, "message");
		if (pages === undefined) throw new Error("the readers ended without a result");
		return { pages, answer };
	} finally {
		await endChild(child);
	}
}

/** Returns the pages that people open most often, and those that read the most rows. */
function pagesOf({ publicId }: SeededShop, conversions: number): readonly string[] {
	const shop = `/programmes/${publicId}`;
	const list = `${shop}/conversions`;
	const number = String(conversions).padStart(10, "0");
	return [
		`${shop}/overview`,
		list,
		`${list}?status=PARKED`,
		`${list}?status=APPROVED`,
		`${list}?orderId=${number.slice(3)}`,
		`${list}?orderId=r-0`,
		`${list}?sort=basket-desc`,
		`${list}?from=2026-01-01&to=2099-01-01`,
		`${list}/cnv_${number}`,
		`${shop}/integration`,
		`${shop}/integration?state=failed`,
		`${shop}/integration/inbound`,
	];
}

const COOKIE_DEPS = {
	keyRing: createKeyRing([BENCH_SEALING_KEY]),
	publicUrl: "http://ringback.example",
	clock: realClock,
	random: createRandom(),
};

async function seedLargeShop(
	store: Store,
	conversions: number,
	urlOf: (shop: number) => string,
	say: (line: string) => void,
): Promise<{ shop: SeededShop; cookies: readonly string[] }> {
	const [shop, other] = await seedShops(store, 2, urlOf);
	if (shop === undefined || other === undefined) throw new Error("two shops were seeded");
	// Every second conversion of the history belongs to the large shop, so it is twice as long.
	const history = { conversions: 2 * conversions, large: shop, small: [other], endsAtMs: Date.now() };
	await seedHistory(store.db, history, (line) => say(`writing ${line}`));
	const cookies: string[] = [];
	for (let reader = 1; reader <= READERS; reader++) cookies.push(await signInReader(store, shop, reader));
	return { shop, cookies };
}

/** Adds a person to the shop and returns the cookie of a session of that person. */
function signInReader(store: Store, shop: SeededShop, reader: number): Promise<string> {
	return store.transact(async (trx) => {
		const nowMs = Date.now();
		const person = await insertPerson(trx, {
			public_id: `usr_reader_${reader}`,
			email: `reader-${reader}@shop.example`,
			kind: "shop",
			created_at_ms: nowMs,
		});
		if (person === undefined) throw new Error("a new database has no people");
		await addToProgramme(trx, shop.id, person.id, "owner");
		await setPassword(trx, person.id, "hash", nowMs);
		const visitor = { address: "127.0.0.1", userAgent: "" };
		const setCookie = await startSession(trx, { ...COOKIE_DEPS, store }, person.id, visitor);
		return setCookie.split(";", 1)[0] ?? "";
	});
}
