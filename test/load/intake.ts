// Shops that report sales as fast as the service takes them: so many senders, each with its next report as soon
// as the last one is answered. Every answer must be the one that a new report gets.

import { setTimeout as wait } from "node:timers/promises";
import { Pool } from "undici";
import { z } from "zod";
import { createSeededRandom } from "../support/seeded-random.ts";
import type { ShopAccount } from "../support/shop-account.ts";
import { signedRequest } from "../support/signed-request.ts";

export interface Intake {
	/** By shop: the conversions it was answered, and the events that it is therefore owed. */
	readonly answered: readonly AnsweredShop[];
	/** In milliseconds, one a call. */
	readonly latenciesMs: readonly number[];
	/** Takes no new reports, and resolves when all senders have their answers. Rejects with the first wrong one. */
	stop(): Promise<void>;
	/** Rejects as soon as an answer is wrong; never resolves before `stop`. */
	done: Promise<void>;
}

export interface AnsweredShop {
	/** The conversion's public id by order. */
	conversions: Map<string, string>;
	/** As `cnv_… conversion.recorded`. */
	events: Set<string>;
}

const ANSWER = z.object({ outcome: z.string(), conversion: z.object({ id: z.string() }) });

/** As many as it takes to keep a service of one process busy all the time. */
const SENDERS = 16;
/** So that shops are owed a second event for some conversions. */
const APPROVED_SHARE = 0.1;
const MAX_TRIES = 5;
const PAUSE_MS = 500;
/** A service that leaves a shop waiting this long has failed it. */
const ANSWER_TIMEOUT_MS = 30_000;

export function startIntake(
	serviceUrl: string,
	shops: readonly Pick<ShopAccount, "apiKey" | "secret">[],
	seed: number,
): Intake {
	const random = createSeededRandom(seed);
	const accounts = shops.map(({ apiKey, secret }, index) => ({ key: apiKey, secret, index }));
	const answered = shops.map((): AnsweredShop => ({ conversions: new Map(), events: new Set() }));
	const latenciesMs: number[] = [];
	const pool = new Pool(serviceUrl, {
		connections: SENDERS,
		headersTimeout: ANSWER_TIMEOUT_MS,
		bodyTimeout: ANSWER_TIMEOUT_MS,
	});
	let orders = 0;
	let isStopping = false;

	async function call(
		account: (typeof accounts)[number],
		path: string,
		report: object,
		triesLeft = MAX_TRIES,
	): Promise<string> {
		const body = JSON.stringify(report);
		const { headers } = signedRequest("POST", path, account, { body, nowMs: Date.now() });
		const startedMs = performance.now();
		const response = await pool.request({ path, method: "POST", headers: Object.fromEntries(headers), body });
		const text = await response.body.text();
		latenciesMs.push(performance.now() - startedMs);
		// A machine that stands still for seconds is told so, and the report is sent again, as shops do.
		if (response.statusCode === 503 && triesLeft > 1) {
			await wait(PAUSE_MS);
			return call(account, path, report, triesLeft - 1);
		}
		const wanted =
			path === "/v1/conversions"
				? { status: 201, outcome: "RECORDED" }
				: { status: 200, outcome: "APPROVED" };
		const answer = response.statusCode === wanted.status ? readAnswer(text) : undefined;
		if (answer?.outcome !== wanted.outcome) {
			throw new Error(`${path} answered ${response.statusCode} to ${body}: ${text}`);
		}
		return answer.conversion.id;
	}

	async function send(): Promise<void> {
		while (!isStopping) {
			const account = random.pick(accounts);
			const shop = answered[account.index];
			if (shop === undefined) throw new RangeError("no such shop");
			const orderId = `order-${orders++}`;
			const basketValue = `${random.between(0, 9_999)}.${random.between(10, 99)}`;
			const id = await call(account, "/v1/conversions", { orderId, basketValue });
			shop.conversions.set(orderId, id);
			shop.events.add(`${id} conversion.recorded`);
			if (!random.chance(APPROVED_SHARE)) continue;
			await call(account, "/v1/approvals", { orderId });
			shop.events.add(`${id} conversion.approved`);
		}
	}

	const done = Promise.all(Array.from({ length: SENDERS }, send)).then(async () => pool.close());
	// Whoever holds it hears of a failure; until somebody does, it must not end the process.
	done.catch(() => pool.destroy());
	return {
		answered,
		latenciesMs,
		done,
		async stop() {
			isStopping = true;
			await done;
		},
	};
}

/** Undefined for what is no outcome, JSON or not. */
function readAnswer(text: string): z.infer<typeof ANSWER> | undefined {
	try {
		return ANSWER.parse(JSON.parse(text));
	} catch {
		// Whoever asked shows the whole answer.
		return undefined;
	}
}
