// A1 creates programmes with owner and key over the network's API, and measures the processor time of a token's check.

import { TOKEN_BYTES } from "#core/domain/api-token.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { sha256Hex } from "#core/domain/signature.ts";
import { insertApiToken } from "#core/store/queries/api-tokens.ts";
import { setPassword } from "#core/store/queries/passwords.ts";
import { insertPerson } from "#core/store/queries/people.ts";
import type { Store } from "#core/store/store.ts";
import { createTokenHolders } from "#modules/token-api/use-cases/token-holders.ts";
import { realClock } from "../src/outside/clock.ts";
import { createRandom } from "../src/outside/random.ts";
import { type Database, withStore } from "./database.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const REACH = { setUpMs: 30_000, checkMicros: 50 } as const;
/** Number of connections. A portal makes its calls one after the other, or a few at once. */
const CONNECTIONS = 4;
const random = createRandom();

interface ApiScale {
	programmes: number;
	checks: number;
}

export const a1Apis = defineWorkload<ApiScale>({
	name: "A1",
	title: "APIs",
	measures:
		"1,000 programmes with owner and key over the API; processor time of a token's check after its first use",
	runsOwnSources: true,
	scales: {
		full: { programmes: 1_000, checks: 200_000 },
		short: { programmes: 200, checks: 50_000 },
		smoke: { programmes: 5, checks: 1_000 },
	},
	async run(scale, tools) {
		const figures: Figure[] = [];
		for (const kind of ["SQLite", "PostgreSQL"] as const) {
			figures.push(...(await tools.withDatabase(kind, (url) => measure(kind, url, scale, tools))));
		}
		return figures;
	},
});

async function measure(
	kind: Database,
	databaseUrl: string,
	scale: ApiScale,
	tools: Tools,
): Promise<Figure[]> {
	const token = await withStore(databaseUrl, seedToken);
	const { caFile } = await tools.receiver();
	const service = await tools.startService({ databaseUrl, caFile, role: "web" });
	const startedAt = performance.now();
	try {
		let next = 0;
		const work = async (): Promise<void> => {
			for (let shop = next++; shop < scale.programmes; shop = next++)
				await createShop(service.url, token, shop);
		};
		await Promise.all(Array.from({ length: CONNECTIONS }, work));
	} finally {
		await service.stop();
	}
	const setUpMs = performance.now() - startedAt;
	const checkMicros = await withStore(databaseUrl, (store) => measureCheck(store, token, scale.checks));
	tools.say(`${kind}: ${scale.programmes} programmes in ${Math.round(setUpMs)} ms`);
	return [
		{
			what: `${kind}: ${scale.programmes} programmes with owner and key`,
			value: setUpMs,
			unit: "ms",
			goal: { atMost: REACH.setUpMs },
		},
		{
			what: `${kind}: check of a token`,
			value: checkMicros,
			unit: "µs",
			goal: { atMost: REACH.checkMicros },
		},
	];
}

/** Creates a member of staff with a token that manages. Returns the token. */
async function seedToken(store: Store): Promise<string> {
	const nowMs = Date.now();
	const newId = (kind: "usr" | "tok") => makeId(kind, nowMs, random.bytes(ID_RANDOM_BYTES));
	const token = `rbn_${random.hex(TOKEN_BYTES)}`;
	await store.transact(async (trx) => {
		const person = await insertPerson(trx, {
			...{ public_id: newId("usr"), email: "mira@network.example", kind: "staff", created_at_ms: nowMs },
		});
		if (person === undefined) throw new Error("the database already has staff");
		await setPassword(trx, person.id, "no password has this hash", nowMs);
		await insertApiToken(trx, {
			...{ public_id: newId("tok"), name: "Portal", token_right: "manage", issued_by: person.id },
			...{ hash: sha256Hex(token), hint: token.slice(-4), created_at_ms: nowMs },
		});
	});
	return token;
}

async function createShop(url: string, token: string, shop: number): Promise<void> {
	const created = await post(`${url}/v1/network/programmes`, token, {
		reference: `shop-${shop}`,
		name: `Shop ${shop}`,
		currency: "EUR",
		commission: { percent: "8" },
		networkFee: { percent: "2" },
		ownerEmail: `owner-${shop}@shop.example`,
	});
	const { programme } = created as { programme: { id: string } };
	await post(`${url}/v1/network/programmes/${programme.id}/keys`, token, { reference: `key-${shop}` });
}

async function post(url: string, token: string, body: object): Promise<unknown> {
	const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
	for (;;) {
		const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
		const json: unknown = await answer.json();
		if (answer.status === 201 || answer.status === 200) return json;
		// The rate limit is part of what a portal meets.
		if (answer.status !== 429) throw new Error(`${url} answered ${answer.status}: ${JSON.stringify(json)}`);
		await new Promise((resume) => setTimeout(resume, 1_000));
	}
}

/** Returns the processor time of one check in microseconds. */
async function measureCheck(store: Store, token: string, checks: number): Promise<number> {
	const holders = createTokenHolders({ store, clock: realClock });
	const authorization = `Bearer ${token}`;
	await holders.find(authorization);
	const before = process.cpuUsage();
	for (let check = 0; check < checks; check++) {
		const known = await holders.find(authorization);
		if (!known.ok) throw new Error(known.fault.detail);
	}
	const { user, system } = process.cpuUsage(before);
	return (user + system) / checks;
}
