// Simulates the network. It has names that resolve to private addresses for a while, shops that behave well or badly,
// and answers that are slow, lost or never come. The real code (outside/https-target) judges the addresses. Accepted
// addresses are dialled, and the auditor sees each of them.

import { type AnswerExcerpt, excerptAnswer } from "#core/domain/answer-excerpt.ts";
import { isSuccess, type Outcome } from "#core/domain/verdict.ts";
import type { LookUp, PostbackAnswer, PostbackRequest } from "#core/ports.ts";
import { EXCERPT_WAIT_MS } from "../../src/outside/https-answer-excerpt.ts";
import { createTargets, type Targets } from "../../src/outside/https-target.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { ServiceProcess } from "./service-process.ts";
import type { Timeline } from "./timeline.ts";

/** Behaviour of a host from some time on. */
export interface Mood {
	fromMs: number;
	/** Percentage of requests that go wrong. */
	badPercent: number;
	dns: "public" | "private" | "mixed" | "rebinding" | "failing";
}

/** Auditor that sees every request, and throws if a request must not have been sent. */
export interface NetworkAuditor {
	/** Called when a request is sent. Returns functions that are called as the request proceeds. */
	onSend(from: ServiceProcess, request: PostbackRequest): SeenRequest;
}

export interface SeenRequest {
	onDial(address: string): void;
	onOutcome(outcome: Outcome): void;
}

export type Network = ReturnType<typeof createNetwork>;

type Fate =
	| { kind: "answered"; status: number; tookMs: number }
	| { kind: "silence" }
	/** The shop received the request, and the connection broke before its answer arrived. */
	| { kind: "lost"; tookMs: number }
	| { kind: "unreachable"; tookMs: number };

const DEADLINE_MS = 5_000;
const MAX_LATENCY_MS = 80;
const GOOD_STATUSES = [200, 201, 202, 204, 204, 204];
const BAD_STATUSES = [301, 302, 308, 400, 401, 404, 404, 408, 408, 410, 429, 429, 500, 502, 503, 503, 504];
const FINAL_REFUSAL = 404;
const PUBLIC_ADDRESS = "93.184.215.14";
const OTHER_PUBLIC_ADDRESS = "2606:2800:21f:cb07:6820:80da:af6b:8b2c";
export const PRIVATE_ADDRESSES: readonly string[] = [
	"10.1.2.3",
	"127.0.0.1",
	"169.254.169.254",
	"192.168.1.1",
	"::1",
	"fd00::1",
	"::ffff:10.0.0.1",
];

/**
 * Creates the network. Hosts of partners have random numbers of their own, so that requests to them do not change what
 * happens to the requests to shops.
 */
export function createNetwork(
	timeline: Timeline,
	{ shops, partners }: { shops: SeededRandom; partners: SeededRandom },
	auditor: NetworkAuditor,
) {
	const moodsOf = new Map<string, Mood[]>();
	// Each process has its own transport with its own cache of targets.
	const targetsOf = new WeakMap<ServiceProcess, Targets>();
	let hasRefused = false;

	function findTargets(process: ServiceProcess): Targets {
		const targets = targetsOf.get(process) ?? createTargets([]);
		targetsOf.set(process, targets);
		return targets;
	}

	function moodOf(host: string): Mood {
		const moods = moodsOf.get(host) ?? [];
		const present = moods.findLast(({ fromMs }) => fromMs <= timeline.nowMs);
		return present ?? { fromMs: 0, badPercent: 100, dns: "failing" };
	}

	function randomOf(host: string): SeededRandom {
		return host.startsWith("partner-") ? partners : shops;
	}

	function lookUp(name: string): LookUp {
		const random = randomOf(name);
		const { dns } = moodOf(name);
		const isPublic = dns === "public" || (dns === "rebinding" && random.chance(0.5));
		if (dns === "failing") return { ok: false, code: "ENOTFOUND" };
		if (isPublic) return { ok: true, addresses: [PUBLIC_ADDRESS, OTHER_PUBLIC_ADDRESS] };
		const bad = random.pick(PRIVATE_ADDRESSES);
		return { ok: true, addresses: dns === "mixed" ? [PUBLIC_ADDRESS, bad] : [bad] };
	}

	function drawFate({ badPercent }: Mood, random: SeededRandom): Fate {
		const tookMs = 2 * random.between(1, MAX_LATENCY_MS);
		if (!random.chance(badPercent / 100)) {
			const status = random.pick(GOOD_STATUSES);
			if (hasRefused) return { kind: "answered", status, tookMs };
			// The first good answer of a run becomes a refusal, so that every run has a delivery that fails finally.
			hasRefused = true;
			return { kind: "answered", status: FINAL_REFUSAL, tookMs };
		}
		switch (random.between(1, 6)) {
			case 1:
				return { kind: "silence" };
			case 2:
				return { kind: "lost", tookMs: tookMs + random.between(0, DEADLINE_MS) };
			case 3:
				return { kind: "unreachable", tookMs };
			case 4:
				return {
					kind: "answered",
					status: random.pick(GOOD_STATUSES),
					tookMs: DEADLINE_MS + random.between(-3, 3),
				};
			default:
				return { kind: "answered", status: random.pick(BAD_STATUSES), tookMs };
		}
	}

	function post(from: ServiceProcess, request: PostbackRequest): Promise<PostbackAnswer> {
		const seen = auditor.onSend(from, request);
		const startedMs = timeline.nowMs;
		return new Promise((resolve) => {
			const tell = (outcome: Outcome, tookMs: number): void => {
				timeline.setOccasion(
					startedMs + tookMs,
					() => {
						seen.onOutcome(outcome);
						resolve({
							outcome,
							timings: { lookUpMs: 1, connectMs: 1, tlsMs: 1, answerMs: tookMs },
							excerpt: startExcerpt(from, request, outcome, startedMs, tookMs),
						});
					},
					from,
				);
			};
			const targets = findTargets(from);
			const target = targets.find(request.url);
			if (target === undefined) {
				tell({ kind: "network-error", stage: "look-up", code: "INVALID_URL" }, 1);
				return;
			}
			const answer = lookUp(target.url.hostname);
			if (!answer.ok) {
				tell({ kind: "network-error", stage: "look-up", code: answer.code }, 1);
				return;
			}
			const judgement = targets.judge(target, answer.addresses);
			if (!judgement.ok) {
				tell(judgement.outcome, 1);
				return;
			}
			// The first address may fail. Then the next one is dialled, as in the real transport.
			const { routes } = judgement;
			const random = randomOf(target.url.hostname);
			const last = random.between(0, routes.length - 1);
			for (const { address } of routes.slice(0, last + 1)) seen.onDial(address);
			exchange(drawFate(moodOf(target.url.hostname), random), tell);
		});
	}

	/**
	 * Returns the beginning of the answer's body, which arrives up to half a second after the headers and
	 * within the deadline. It contains the request's nonce.
	 */
	function startExcerpt(
		from: ServiceProcess,
		request: PostbackRequest,
		outcome: Outcome,
		startedMs: number,
		tookMs: number,
	): Promise<AnswerExcerpt> | null {
		if (outcome.kind !== "answered" || isSuccess(outcome.status)) return null;
		// The delay is derived from an earlier random number. Drawing another one would change the history of
		// every seed.
		const excerptAtMs = Math.min(tookMs + ((tookMs * 13) % (EXCERPT_WAIT_MS + 1)), DEADLINE_MS);
		const nonceAt = request.headers.findIndex((name) => name.endsWith("-Nonce"));
		const body = Buffer.from(`no: ${request.headers[nonceAt + 1]}`);
		return new Promise((resolve) => {
			timeline.setOccasion(
				startedMs + excerptAtMs,
				() => resolve(excerptAnswer({ server: "simulated" }, body, false)),
				from,
			);
		});
	}

	function exchange(fate: Fate, tell: (outcome: Outcome, tookMs: number) => void): void {
		switch (fate.kind) {
			case "silence":
				tell({ kind: "timeout", stage: "exchange" }, DEADLINE_MS);
				return;
			case "unreachable":
				tell({ kind: "network-error", stage: "connect", code: "ECONNREFUSED" }, fate.tookMs);
				return;
			case "lost":
				if (fate.tookMs >= DEADLINE_MS) tell({ kind: "timeout", stage: "exchange" }, DEADLINE_MS);
				else tell({ kind: "network-error", stage: "exchange", code: "ECONNRESET" }, fate.tookMs);
				return;
			case "answered":
				if (fate.tookMs >= DEADLINE_MS) tell({ kind: "timeout", stage: "exchange" }, DEADLINE_MS);
				else tell({ kind: "answered", status: fate.status }, fate.tookMs);
				return;
			default:
				fate satisfies never;
		}
	}

	return {
		/** Sets the behaviour of a host from a given time on. Calls for one host must be in the order of time. */
		setMood: (host: string, mood: Mood) => moodsOf.set(host, [...(moodsOf.get(host) ?? []), mood]),
		post,
		lookUp,
	};
}
