// One attempt in progress. The object measures the steps, settles with exactly one outcome, and is also
// undici's handler for the answer. One object does all of this, because 20,000 attempts run per second.
//
//   look-up ─► connect ─► tls ─► answer ─► settled, the body is discarded ─► over
//      │          ▲                ▲ │
//      └──────────┼─ reused ───────┘ │
//                 └── reused, but dead ┘  before a byte was written; the same if a TLS session was resumed
//
// Any step may settle the attempt early, by its own failure or by the deadline. Only the first outcome
// counts. The deadline also ends the reading of the body, whose beginning is stored if the answer is not 2xx
// (https-answer-excerpt.ts).

import type { Dispatcher } from "undici";
import type { AnswerExcerpt, AnswerHeaders } from "#core/domain/answer-excerpt.ts";
import { type AttemptTimings, isSuccess, type Outcome } from "#core/domain/verdict.ts";
import type { PostbackAnswer, PostbackRequest } from "#core/ports.ts";
import { readErrorCode } from "./error-code.ts";
import { type ExcerptReader, startExcerpt } from "./https-answer-excerpt.ts";
import type { Connection } from "./https-connection.ts";
import type { Expiring } from "./https-deadlines.ts";
import type { Cancel } from "./https-dial.ts";
import type { Route, Target } from "./https-target.ts";

export interface AttemptOwner {
	/** Called when the headers have arrived and the attempt is settled. The body has not been read yet. */
	onAnswer(attempt: Attempt, connection: Connection): void;
	/**
	 * Called when the answer was read to its end. The connection may carry another request, unless the shop has announced
	 * that it closes the connection.
	 */
	onEnd(attempt: Attempt, connection: Connection, isLast: boolean): void;
	/**
	 * Called if a reused connection, or one that resumed a TLS session, was closed before a byte of the request was
	 * written. The request can then safely be sent on another connection.
	 */
	onUnsent(attempt: Attempt, connection: Connection): void;
	/** Called when the attempt holds no resources any more. */
	onOver(attempt: Attempt): void;
}

type Step = "lookUpMs" | "connectMs" | "tlsMs" | "answerMs";

const STAGE_OF_STEP = {
	lookUpMs: "look-up",
	connectMs: "connect",
	tlsMs: "tls",
	answerMs: "exchange",
} as const;

export class Attempt implements Expiring, Dispatcher.DispatchHandler {
	readonly request: PostbackRequest;
	readonly startedAtMs: number;
	isSettled = false;
	/**
	 * Target and routes of the attempt, once they are known. They are needed again if another connection must be opened.
	 */
	target: Target | undefined;
	routes: readonly Route[] = [];
	cancelDial: Cancel | undefined;

	readonly #startedAtWallMs = Date.now();
	readonly #deadlineMs: number;
	readonly #owner: AttemptOwner;
	readonly #resolve: (answer: PostbackAnswer) => void;
	readonly #timings: AttemptTimings = { lookUpMs: null, connectMs: null, tlsMs: null, answerMs: null };
	#step: Step = "lookUpMs";
	#stepStartedMs: number;
	#connection: Connection | undefined;
	#isReused = false;
	#isSent = false;
	#isAnswerBegun = false;
	/** Whether the shop has announced that it closes the connection after this answer. */
	#isLast = false;
	#excerptReader: ExcerptReader | undefined;

	constructor(
		owner: AttemptOwner,
		request: PostbackRequest,
		deadlineMs: number,
		resolve: (answer: PostbackAnswer) => void,
	) {
		this.#owner = owner;
		this.#deadlineMs = deadlineMs;
		this.request = request;
		this.#resolve = resolve;
		this.startedAtMs = performance.now();
		this.#stepStartedMs = this.startedAtMs;
	}

	/**
	 * Ends the current step and begins the next one. The time of the current step is recorded only if the step
	 * took place.
	 */
	enter(step: Step, wasReached = true): void {
		const nowMs = performance.now();
		if (wasReached) this.#timings[this.#step] = roundMs(nowMs - this.#stepStartedMs);
		this.#step = step;
		this.#stepStartedMs = nowMs;
	}

	/**
	 * Assigns a connection without writing to it. https-transport.ts explains why a reused connection waits
	 * before `send`.
	 */
	take(connection: Connection, isReused: boolean): void {
		this.#connection = connection;
		this.#isReused = isReused;
	}

	send(): void {
		if (this.isSettled || this.#connection === undefined || this.target === undefined) return;
		const { getTarget } = this.request;
		this.#connection.client.dispatch(
			{
				path: getTarget ?? this.target.url.target,
				method: getTarget === undefined ? "POST" : "GET",
				// If this were left out, undici would take a GET for a request that may be repeated.
				idempotent: false,
				// The cast is safe, because undici only reads the array, although its type does not say so.
				headers: this.request.headers as string[],
				body: getTarget === undefined ? this.request.body : null,
			},
			this,
		);
	}

	/** Settles the attempt. The time of an unfinished step is recorded, too. */
	settle(outcome: Outcome, wasReached = true, excerpt: Promise<AnswerExcerpt> | null = null): void {
		if (this.isSettled) return;
		this.isSettled = true;
		if (wasReached) this.#timings[this.#step] = roundMs(performance.now() - this.#stepStartedMs);
		this.#resolve({ outcome, timings: this.#timings, excerpt });
	}

	fail(code: string, wasReached = true): void {
		this.settle({ kind: "network-error", stage: STAGE_OF_STEP[this.#step], code }, wasReached);
		this.abandon();
	}

	expire(): void {
		// If nothing was written, the step "answer" did not take place.
		const wasReached = this.#step !== "answerMs" || this.#isSent;
		this.settle({ kind: "timeout", stage: STAGE_OF_STEP[this.#step] }, wasReached);
		this.abandon();
	}

	abandon(): void {
		this.cancelDial?.();
		this.#connection?.socket.destroy();
		this.#owner.onOver(this);
	}

	/** undici calls this immediately before it writes the request. */
	onRequestStart(controller: Dispatcher.DispatchController): void {
		if (this.#isTooLate()) {
			this.expire();
			controller.abort(new Error("the deadline has passed"));
			return;
		}
		this.#isSent = true;
		// Time during which a reused connection waited for the poll phase does not count as the shop's time.
		this.#stepStartedMs = performance.now();
		this.#connection?.gate.expect();
	}

	/**
	 * Returns whether the deadline has passed by either clock. If this process was stopped or its machine was suspended
	 * while the connection was opened, another engine may own the slot and may have sent the callback. The timer of the
	 * deadline comes too late then, and the monotonic clock stands still during a suspension.
	 */
	#isTooLate(): boolean {
		const tookMs = Math.max(performance.now() - this.startedAtMs, Date.now() - this.#startedAtWallMs);
		return tookMs >= this.#deadlineMs;
	}

	onResponseStarted(): void {
		this.#isAnswerBegun = true;
	}

	onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
		// Informational answers (1xx) precede the real answer (RFC 9110 section 15.2).
		if (status < 200) return;
		this.#isLast = headers["connection"] === "close";
		if (!isSuccess(status)) this.#excerptReader = startExcerpt(headers);
		this.settle({ kind: "answered", status }, true, this.#excerptReader?.excerpt ?? null);
		if (this.#connection !== undefined) this.#owner.onAnswer(this, this.#connection);
	}

	onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
		// Bytes beyond the stored part are discarded. The connection limits their number, and the deadline limits
		// their time.
		this.#excerptReader?.take(piece);
	}

	onResponseEnd(): void {
		this.#excerptReader?.end(true);
		const connection = this.#connection;
		this.#connection = undefined;
		if (connection !== undefined) this.#owner.onEnd(this, connection, this.#isLast);
	}

	/** Handles an error of the connection. undici also calls this after `abandon` has closed the connection. */
	onResponseError(_controller: Dispatcher.DispatchController | null, error: unknown): void {
		this.#excerptReader?.end(false);
		const connection = this.#connection;
		connection?.socket.destroy();
		const mayRepeat = !this.#isSent && (this.#isReused || connection?.line.isResumed);
		if (this.isSettled) this.#owner.onOver(this);
		else if (mayRepeat && connection !== undefined) this.#owner.onUnsent(this, connection);
		else this.fail(this.#nameError(readErrorCode(error)));
	}

	/**
	 * Returns the error code to store. undici uses one code, or none, for every broken connection. The returned
	 * code tells whether the answer had begun.
	 */
	#nameError(code: string): string {
		if (code === "UND_ERR_SOCKET") return this.#isAnswerBegun ? "BROKEN_ANSWER" : "CLOSED_WITHOUT_ANSWER";
		return code === "UNKNOWN" || code === "ERR_ASSERTION" ? "BROKEN_ANSWER" : code;
	}
}

function roundMs(durationMs: number): number {
	return Math.round(durationMs * 10) / 10;
}
