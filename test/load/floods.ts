// Measures how long a shop's sale takes during a flood of pages, sign-ins, reads or signature checks,
// compared with a quiet service. Quiet and flooded rounds alternate. The best round of each counts, because
// machines are noisy.

import { COMMAND_LINE } from "#core/people/actor.ts";
import { startSession } from "#core/people/auth.ts";
import { setPassword } from "#core/store/queries/passwords.ts";
import { findPersonByEmail } from "#core/store/queries/people.ts";
import { addSamplePartner, SAMPLE_LINK } from "#modules/partners/use-cases/sample.ts";
import { type ForkedProcess, forkProcess } from "../support/forked-process.ts";
import { issueNetworkToken } from "../support/network-token.ts";
import { openService } from "../support/open-service.ts";
import { expectValue, openAccount } from "../support/shop-account.ts";
import type { DatabaseKind } from "../support/test-database.ts";
import { until } from "../support/until.ts";
import type { Flood, FloodAnswer, FloodOrder } from "./flood-process.ts";
import { median } from "./memory.ts";

export interface FloodFigures {
	name: string;
	quietMs: number;
	floodMs: number;
	/** Longest time of a health check during the flood. */
	slowestHealthMs: number;
	answered: object;
}

const EMAIL = "owner@flood.example";

export async function measureFloods(
	database: DatabaseKind,
	{ sales, rounds, names }: { sales: number; rounds: number; names?: readonly string[] },
	onFigures: (figures: FloodFigures) => void,
): Promise<readonly FloodFigures[]> {
	await using cleaning = new AsyncDisposableStack();
	const opened = await openService({ database, settings: { RINGBACK_TRUSTED_PROXIES: "127.0.0.1" } });
	cleaning.defer(() => opened.close());
	const workplace = await opened.openWorkplace();
	const shop = await openAccount(workplace);
	const other = await openAccount(workplace, { owners: [EMAIL] });
	const cookie = await workplace.store.transact(async (trx) => {
		const person = await findPersonByEmail(trx, EMAIL);
		if (person === undefined) throw new Error("the programme has no owner");
		await setPassword(trx, person.id, "hash", workplace.clock.nowMs());
		return startSession(trx, workplace, person.id, { address: "127.0.0.1", userAgent: "" });
	});
	expectValue(await addSamplePartner(workplace, COMMAND_LINE, other.programme.id));
	const token = await issueNetworkToken(workplace);
	await workplace.close();
	const { url } = opened.service;
	const start = () =>
		forkProcess<null, FloodOrder, FloodAnswer>(new URL("flood-process.ts", import.meta.url));
	const seller = await start();
	cleaning.defer(() => seller.close());
	let round = 0;
	const sell = async () => {
		const order = { what: "sell", url, orders: `round-${round++}`, count: sales } as const;
		return seller.ask({ ...order, shop: { key: shop.apiKey, secret: shop.secret } });
	};
	await sell();
	const all: FloodFigures[] = [];
	const credentials = { key: other.apiKey, secret: other.secret };
	for (const flood of floodsOf(other.programmeId, credentials, cookie.split(";", 1)[0] ?? "", token)) {
		if (names !== undefined && !names.includes(flood.name)) continue;
		const [quiet, flooded]: [number[], { salesMs: number; healthMs: number; answered: object }[]] = [[], []];
		for (let n = 0; n < rounds; n++) {
			quiet.push(median((await sell()).salesMs));
			flooded.push(await sellInFlood(await start(), url, flood, sell));
		}
		const best = flooded.toSorted((one, other) => one.salesMs - other.salesMs)[0];
		if (best === undefined) throw new RangeError("no round at all");
		const figures = {
			name: flood.name,
			quietMs: Math.min(...quiet),
			floodMs: best.salesMs,
			slowestHealthMs: best.healthMs,
			answered: best.answered,
		};
		onFigures(figures);
		all.push(figures);
	}
	return all;
}

async function sellInFlood(
	flooder: ForkedProcess<null, FloodOrder, FloodAnswer>,
	url: string,
	flood: Flood,
	sell: () => Promise<FloodAnswer>,
) {
	try {
		await flooder.ask({ what: "flood", url, flood });
		const countAnswered = async () => {
			const { answered } = await flooder.ask({ what: "report" });
			return Object.values(answered).reduce((sum, count) => sum + count, 0);
		};
		await until(async () => (await countAnswered()) >= flood.connections);
		const { salesMs, healthMs } = await sell();
		const { answered } = await flooder.ask({ what: "report" });
		return { salesMs: median(salesMs), healthMs: Math.max(...healthMs), answered };
	} finally {
		await flooder.close();
	}
}

export function describeFloods(database: DatabaseKind, all: readonly FloodFigures[]): string {
	const lines = all.map(({ name, quietMs, floodMs, slowestHealthMs, answered }) => {
		const times = (floodMs / quietMs).toFixed(1);
		return `${name}: p50 ${quietMs.toFixed(1)} -> ${floodMs.toFixed(1)} ms (${times} times), slowest health check ${slowestHealthMs.toFixed(0)} ms, the flood was answered ${JSON.stringify(answered)}`;
	});
	return [`A sale's time in floods, ${database}:`, ...lines].join("\n");
}

function floodsOf(
	programmeId: string,
	signedBy: Flood["signedBy"] & object,
	cookie: string,
	token: string,
): Flood[] {
	const form = { "content-type": "application/x-www-form-urlencoded" };
	const quotes = encodeURIComponent(`"${'\\"'.repeat(32_000)}"`);
	const headers = encodeURIComponent(
		`X-Service-Timestamp: 1\nX-Service-Nonce: abcdefgh\nX-Service-Signature: ${"0".repeat(64)}`,
	);
	const read = { connections: 128, method: "GET", from: "one address" } as const;
	const report = { ...read, method: "POST", path: "/v1/conversions", body: "{}" } as const;
	return [
		{ name: "a page", connections: 128, method: "GET", path: "/sign-in" },
		{ name: "search", connections: 128, method: "GET", path: "/docs/search?q=signature+callback+secret" },
		{ name: "/openapi.json", connections: 128, method: "GET", path: "/openapi.json" },
		{
			name: "pages from everywhere",
			connections: 128,
			method: "GET",
			path: "/docs/search?q=retry",
			from: "everywhere",
		},
		{
			name: "sign-ins from everywhere",
			connections: 64,
			method: "POST",
			path: "/sign-in",
			headers: form,
			body: "email=NUMBER%40nobody.example&password=correct+horse+battery",
			from: "everywhere",
		},
		{ name: "signed reads", connections: 128, method: "GET", path: "/v1/conversions", signedBy },
		{
			name: "signature checks",
			connections: 20,
			method: "POST",
			path: `/programmes/${programmeId}/integration/signature`,
			headers: { ...form, cookie },
			body: `method=POST&target=%2Fv1%2Fconversions&headers=${headers}&body=${quotes}`,
		},
		{ name: "/readyz", ...read, path: "/readyz" },
		{ name: "unknown link codes", ...read, path: "/c/xNUMBERx" },
		{ name: "unknown link codes from everywhere", ...read, from: "everywhere", path: "/c/xNUMBERx" },
		{
			name: "a link with ever new user agents",
			...read,
			path: `/c/${SAMPLE_LINK.code}`,
			headers: {
				"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:NUMBER.0) Gecko/20100101 Firefox/NUMBER.0",
			},
		},
		{ name: "bad signatures", ...report, headers: signedWrongly(signedBy.key) },
		{ name: "unknown keys", ...report, headers: signedWrongly("rbk_NUMBER") },
		{
			name: "a token without the right",
			...read,
			path: "/v1/partner/programmes",
			headers: { authorization: `Bearer ${token}` },
		},
		{ name: "made-up sign-in links", ...read, path: "/welcome/NUMBER" },
	];
}

function signedWrongly(key: string): Readonly<Record<string, string>> {
	return {
		authorization: `Bearer ${key}`,
		"content-type": "application/json",
		"x-service-timestamp": String(Math.floor(Date.now() / 1000)),
		"x-service-nonce": "nonce-NUMBER",
		"x-service-signature": "0".repeat(64),
	};
}
