// Tests host names for which the name server's answers change between check and dial, and between two
// requests. First come single cases, then random rounds in which many names get different answers each time.
// One half of the loopback addresses is allowed and has a real shop. The other half represents forbidden
// addresses.

import { equal } from "node:assert/strict";
import type { Outcome } from "#core/domain/verdict.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { savePostbackUrl } from "#core/programmes/postback-url.ts";
import type { Question, Reply } from "../support/dns-message.ts";
import { prepareService } from "../support/open-service.ts";
import { BrokenPromise, type Progress } from "../support/proof.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { startShop } from "../support/shop.ts";
import { startZoneServer } from "../support/zone-server.ts";
import { guardDials } from "./dial-guard.ts";
import { type Answers, answerWith, MAX_TRIES } from "./judge-entries.ts";

export interface RebindingCounts {
	cases: number;
	rounds: number;
	delivered: number;
	refused: number;
}

type Rebinding = Awaited<ReturnType<typeof openRebinding>>;

/**
 * Result of sending a callback. It is null if the look-up had no answer in time, which proves nothing about
 * the address.
 */
type Kind = "delivered" | "forbidden" | "unresolvable" | null;

/**
 * Address of the shop. It is in the half of the loopback addresses that is allowed, which represents the
 * public internet.
 */
const GOOD = "127.0.0.1";
const ALLOWED_RANGE = "127.0.0.0/9";
const BAD = ["127.128.0.1", "127.255.255.254", "::1"] as const;
/**
 * Time after which the answer of a name server is no longer cached. Answers are cached for a second. Idle
 * connections stay open for four seconds, so they outlive it.
 */
const REMEMBERED_MS = 1_001;
const NAMES = 40;
/** Share of rounds in which answers of earlier rounds may still be cached. */
const SHARE_KEPT = 0.3;

const PUBLIC = answerWith(GOOD);
const INSIDE = answerWith(BAD[0]);

const CASES: Readonly<Record<string, (setup: Rebinding) => Promise<void>>> = {
	async "a name that turns forbidden after saving gets nothing until it is public again"(setup) {
		const name = setup.newName();
		setup.zone.set(name, PUBLIC);
		equal(await setup.save(name), "unknown_programme");
		for (const [answers, kind] of [
			[INSIDE, "forbidden"],
			[PUBLIC, "delivered"],
			[answerWith(GOOD, BAD[2]), "forbidden"],
		] as const) {
			setup.zone.set(name, answers);
			setup.forgetNames();
			equal(await setup.send(name), kind);
		}
		equal(await setup.save(name), "postback_url_forbidden_address");
	},
	async "a name that turned forbidden gets nothing, although its open connection still works"(setup) {
		const name = setup.newName();
		const sendAs = async (answers: Answers) => {
			setup.zone.set(name, answers);
			setup.forgetNames();
			return [await setup.send(name), setup.shop.requests.at(-1)?.connectionId] as const;
		};
		const [, before] = await sendAs(PUBLIC);
		equal((await sendAs(INSIDE))[0], "forbidden");
		// The same connection is used again; it stayed open while the name was forbidden.
		equal((await sendAs(PUBLIC))[1], before, "no connection was kept");
	},
	async "the checked address is the one that is dialled, with no look-up in between"(setup) {
		const name = setup.newName();
		const answers = [PUBLIC.A, INSIDE.A];
		setup.zone.set(name, ({ type }) => (type === "A" ? (answers.shift() ?? INSIDE.A) : {}));
		const kind = await setup.send(name);
		// A slow machine sends a question to the name server again, which uses up the first answer. The case is
		// then tried again.
		if (setup.asked(name) > 2) throw new Error("the question was repeated");
		equal(kind, "delivered");
	},
};

export async function proveRebinding(
	rounds: number,
	seed: number,
	progress: Progress,
	replay: string,
): Promise<RebindingCounts> {
	await using cleaning = new AsyncDisposableStack();
	const setup = await openRebinding(cleaning);
	for (const [title, run] of Object.entries(CASES)) {
		progress(title);
		await runPatiently(() => run(setup)).catch((error: unknown) => {
			throw new BrokenPromise(`case "${title}"`, replay, error);
		});
		stopIfBroken(setup, `in case "${title}"`, replay);
	}
	const counts = { cases: Object.keys(CASES).length, rounds, delivered: 0, refused: 0 };
	const names = Array.from({ length: NAMES }, setup.newName);
	const random = createSeededRandom(seed);
	/**
	 * Results that are possible for each name, because the name server gave such answers since the cache was
	 * last emptied.
	 */
	const mayBe = names.map(() => new Set<Kind>());
	for (let round = 1; round <= rounds; round++) {
		progress(`round ${round} of ${rounds}`);
		if (!random.chance(SHARE_KEPT)) {
			setup.forgetNames();
			for (const kinds of mayBe) kinds.clear();
		}
		for (const [index, name] of names.entries()) {
			const [kind, answers] = drawName(random);
			setup.zone.set(name, answers);
			mayBe[index]?.add(kind);
		}
		for (const [index, kind] of (await Promise.all(names.map(setup.send))).entries()) {
			if (kind !== null && mayBe[index]?.has(kind) !== true) {
				throw new BrokenPromise(`round ${round}, ${names[index]}: ${kind}`, replay);
			}
			if (kind === "delivered") counts.delivered += 1;
			if (kind === "forbidden") counts.refused += 1;
		}
		stopIfBroken(setup, `in round ${round}`, replay);
	}
	return counts;
}

/**
 * Runs a case up to MAX_TRIES times. A stalled machine may miss a deadline and fail once, but a defect fails
 * each time.
 */
async function runPatiently(run: () => Promise<void>): Promise<void> {
	for (let tries = 1; ; tries++) {
		const failure = await run().then(
			() => null,
			(error: unknown) => ({ error }),
		);
		if (failure === null) return;
		if (tries === MAX_TRIES) throw failure.error;
	}
}

/**
 * Throws if any address but the allowed one was dialled, or if a connection bypassed the guard. These
 * failures are never tried again, because a slow machine cannot cause them.
 */
function stopIfBroken({ guard }: Rebinding, where: string, replay: string): void {
	const inside = guard.dials.find(({ host }) => host !== GOOD);
	if (inside !== undefined) throw new BrokenPromise(`${where}: ${inside.host} was dialled`, replay);
	if (guard.systemConnects !== guard.dials.length) {
		throw new BrokenPromise(`${where}: connections went past the guard`, replay);
	}
}

function drawName(random: SeededRandom): readonly [Kind, Answers] {
	const bad = random.pick(BAD);
	const ipv4 = random.pick(BAD.slice(0, 2));
	const owner = "inside.alias.example";
	const alias = [
		{ type: "CNAME", data: owner },
		{ owner, type: "A", data: ipv4 },
	] as const;
	return random.pick<readonly [Kind, Answers]>([
		["delivered", answerWith(GOOD)],
		["delivered", answerWith(GOOD, GOOD)],
		["forbidden", answerWith(bad)],
		["forbidden", answerWith(GOOD, bad)],
		["forbidden", answerWith(bad, GOOD)],
		["forbidden", answerWith(GOOD, `::ffff:${ipv4}`)],
		["forbidden", { A: { answers: alias }, AAAA: {} }],
		["unresolvable", answerWith()],
		["unresolvable", { A: { failure: "NXDOMAIN" }, AAAA: { failure: "NXDOMAIN" } }],
	]);
}

async function openRebinding(cleaning: AsyncDisposableStack) {
	const zone = new Map<string, Answers | ((question: Question) => Reply)>();
	const questions = new Map<string, number>();
	const names = await startZoneServer((question) => {
		questions.set(question.name, (questions.get(question.name) ?? 0) + 1);
		const known = zone.get(question.name);
		if (known === undefined) return { failure: "NXDOMAIN" };
		if (typeof known === "function") return known(question);
		return question.type === null ? {} : known[question.type];
	});
	cleaning.defer(() => names.close());
	const shop = await startShop({ host: GOOD, names: [GOOD, "*.names.example"] });
	cleaning.defer(() => shop.close());
	const opened = await prepareService({
		trustedCa: shop.caPem,
		settings: {
			RINGBACK_DNS_SERVERS: names.address,
			RINGBACK_ALLOWED_PRIVATE_RANGES: ALLOWED_RANGE,
		},
	});
	cleaning.defer(opened.close);
	const workplace = await opened.openWorkplace();
	cleaning.defer(() => workplace.close());
	const guard = cleaning.use(guardDials(({ host }) => host === GOOD));
	// The transport's clock uses `performance.now`; the system's timers stay as they are.
	const original = performance.now;
	let passedMs = 0;
	performance.now = () => original.call(performance) + passedMs;
	cleaning.defer(() => {
		performance.now = original;
	});
	let nameCount = 0;
	return {
		shop,
		guard,
		/** Answers of the name server by name. A name that is not in the map does not exist. */
		zone,
		/** Returns how often the name server was asked for a name so far. */
		asked: (name: string) => questions.get(name) ?? 0,
		/** Returns a name that was not used before. */
		newName: () => `rebind-${nameCount++}.names.example`,
		async save(name: string) {
			const saved = await savePostbackUrl(workplace, "prg_none", shop.url("/", name), COMMAND_LINE);
			return saved.ok ? "saved" : saved.fault.code;
		},
		async send(name: string): Promise<Kind> {
			const request = { url: shop.url("/", name), headers: [], body: "{}" };
			return readKind((await workplace.transport.post(request)).outcome);
		},
		/**
		 * Moves the clock by the second for which answers are cached, so that names are looked up again. It must
		 * be called while no request is in flight.
		 */
		forgetNames() {
			passedMs += REMEMBERED_MS;
		},
	};
}

function readKind(outcome: Outcome): Kind {
	if (outcome.kind === "answered" && outcome.status === 204) return "delivered";
	if (outcome.kind === "forbidden-address") return "forbidden";
	if (outcome.kind === "network-error" && outcome.stage === "look-up") {
		return outcome.code === "ETIMEOUT" ? null : "unresolvable";
	}
	if (outcome.kind === "timeout") return null;
	throw new Error(`a sending ended as ${JSON.stringify(outcome)}`);
}
