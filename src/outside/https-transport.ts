// Sends one signed request to one checked address, within one deadline and with one outcome. No byte is sent
// to an address that was not checked for this attempt (invariant 7).

import type { AddressRange } from "#core/domain/address.ts";
import type { LookUp, Transport } from "#core/ports.ts";
import { createDnsLookUp } from "./dns-lookup.ts";
import { Attempt, type AttemptOwner } from "./https-attempt.ts";
import { type Connection, createConnections } from "./https-connection.ts";
import { createDeadlines } from "./https-deadlines.ts";
import { createDialler } from "./https-dial.ts";
import { createTargets, type Route, type Target } from "./https-target.ts";

export interface HttpsTransportOptions {
	allowedPrivateRanges: readonly AddressRange[];
	/** Certificate authorities in PEM form that are trusted in addition to Node's roots. */
	trustedCa?: string | undefined;
	/** Addresses of name servers to use instead of the system's. */
	dnsServers?: readonly string[] | undefined;
	deadlineMs?: number | undefined;
}

/** Time allowed for the receiver to answer (contract section 8). */
export const DEADLINE_MS = 5_000;

export function createHttpsTransport(options: HttpsTransportOptions): Transport {
	const deadlineMs = options.deadlineMs ?? DEADLINE_MS;
	const lookUp = createDnsLookUp(options.dnsServers);
	const targets = createTargets(options.allowedPrivateRanges);
	const dialler = createDialler(options.trustedCa);
	const connections = createConnections();
	const deadlines = createDeadlines<Attempt>(deadlineMs);
	const sendAfterPollPhase = createAfterPollPhase((attempt: Attempt) => attempt.send());
	let closing: Promise<void> | undefined;
	let onIdle: (() => void) | undefined;

	const owner: AttemptOwner = {
		onAnswer(attempt, { line }) {
			dialler.keepSessions(line);
			if (closing !== undefined) attempt.abandon();
		},
		onEnd(attempt, connection, isLast) {
			// undici would close the connection, too, but it would create an error, whose stack trace takes longer than
			// everything else.
			if (closing === undefined && !isLast) connections.keep(connection);
			else connection.socket.destroy();
			owner.onOver(attempt);
		},
		onUnsent(attempt, { line }) {
			if (attempt.target === undefined) return;
			attempt.enter("connectMs", false);
			dialFor(attempt, attempt.target, !line.isResumed);
		},
		onOver(attempt) {
			deadlines.remove(attempt);
			if (deadlines.inFlight.size === 0) onIdle?.();
		},
	};

	function start(attempt: Attempt): void {
		const target = closing === undefined ? targets.find(attempt.request.url) : undefined;
		if (target === undefined) {
			// A saved URL cannot be invalid, because it passed the same check when it was saved.
			attempt.fail(closing === undefined ? "INVALID_URL" : "TRANSPORT_CLOSED", false);
			return;
		}
		attempt.target = target;
		const addresses = target.literal ?? lookUp.recall(target.url.hostname);
		if (addresses !== undefined) {
			goTo(attempt, target, addresses, false);
			return;
		}
		lookUp.ask(target.url.hostname).then((answer) => {
			// The deadline may have passed while the name server was asked. A late look-up is dropped.
			if (!attempt.isSettled) goTo(attempt, target, answer, true);
		});
	}

	function goTo(attempt: Attempt, target: Target, answer: LookUp, wasAsked: boolean): void {
		if (!answer.ok) {
			attempt.fail(answer.code);
			return;
		}
		const judgement = targets.judge(target, answer.addresses);
		if (!judgement.ok) {
			attempt.settle(judgement.outcome, wasAsked);
			attempt.abandon();
			return;
		}
		attempt.routes = judgement.routes;
		const idleConnection = takeKept(judgement.routes);
		if (idleConnection === undefined) {
			attempt.enter("connectMs", wasAsked);
			dialFor(attempt, target, true);
		} else {
			attempt.enter("answerMs", wasAsked);
			attempt.take(idleConnection, true);
			sendAfterPollPhase(attempt);
		}
	}

	function takeKept(routes: readonly Route[]): Connection | undefined {
		for (const { key } of routes) {
			const idleConnection = connections.take(key);
			if (idleConnection !== undefined) return idleConnection;
		}
		return undefined;
	}

	function dialFor(attempt: Attempt, { url }: Target, mayResume: boolean): void {
		const leftMs = attempt.startedAtMs + deadlineMs - performance.now();
		const order = { url, routes: attempt.routes, leftMs, mayResume };
		attempt.cancelDial = dialler.dial(order, {
			onConnect: () => attempt.enter("tlsMs"),
			onFailure: (code) => attempt.fail(code),
			onSecure(line) {
				attempt.cancelDial = undefined;
				attempt.enter("answerMs");
				attempt.take(connections.open(url.origin, line), false);
				attempt.send();
			},
		});
	}

	return {
		post: (request) =>
			new Promise((resolve) => {
				const attempt = new Attempt(owner, request, deadlineMs, resolve);
				deadlines.add(attempt);
				start(attempt);
			}),
		lookUp: lookUp.ask,
		close() {
			closing ??= new Promise<void>((resolve) => {
				onIdle = resolve;
				connections.close();
				for (const attempt of deadlines.inFlight) {
					if (attempt.isSettled) attempt.abandon();
				}
				if (deadlines.inFlight.size === 0) resolve();
			}).then(lookUp.close);
			return closing;
		},
	};
}

/**
 * Calls `run` after the event loop's next poll phase, in which Node reads from sockets. An idle connection
 * may already hold bytes that the shop sent since the last answer. They may close the connection, or be a
 * second answer that would be mistaken for the answer to the next request. Only a poll phase shows them.
 *
 * undici also checks the connection before it writes, one setImmediate later. But most attempts begin inside
 * a poll phase, because the answer to another attempt starts them. undici's check then runs before the next
 * poll phase and sees nothing new (shown by a test, undici 8.12.4).
 *
 * If an attempt begins inside a setImmediate, the check runs after a whole poll phase. One setImmediate
 * serves all waiting attempts.
 */
function createAfterPollPhase<Waiting>(run: (waiting: Waiting) => void): (waiting: Waiting) => void {
	let queue: Waiting[] = [];

	function runAll(): void {
		const present = queue;
		queue = [];
		for (const waiting of present) run(waiting);
	}

	return (waiting) => {
		if (queue.length === 0) setImmediate(runAll);
		queue.push(waiting);
	};
}
