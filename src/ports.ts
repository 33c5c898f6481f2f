// What the service needs from the outside world, as interfaces and nothing else.
// The real ones live in outside/; tests bring a clock that can be moved.

import type { AddressRange } from "./domain/address.ts";
import type { KeptAnswer } from "./domain/kept-answer.ts";
import type { AttemptTimings, Outcome } from "./domain/verdict.ts";

export interface Clock {
	/** The time that is stored, compared and signed: on PostgreSQL the database's, on SQLite this machine's. */
	nowMs(): number;
	/** Is never set: for how long something lasts. Its zero means nothing. */
	monotonicMs(): number;
	/**
	 * False while this machine's clock and the database's are more than a minute apart: nobody knows which is right, so
	 * nothing is sent or decided by time.
	 */
	isSure(): boolean;
	/** Calls `run` once after `delayMs`; the returned function cancels it. */
	after(delayMs: number, run: () => void): () => void;
	/** Lets everything else that waits for the event loop go first: long work calls it between two batches. */
	yieldLoop(): Promise<void>;
}

/** How hard it is for this process to keep up. */
export interface Load {
	/** Share of the time since the last call in which the event loop had work or waited for a core, 0 to 1. */
	busyShare(): number;
	/** For how long it was late, altogether, since the start. A tenth of a second or less counts as none. */
	lateMs(): number;
}

export interface DiskSpace {
	/** That this account may use. */
	freeBytes: number;
	sizeBytes: number;
}

/** A request to us while it is answered: whoever answers it notes what it turns out to be. */
export interface RequestRecord {
	/** The caller's own X-Request-Id, if it can be used, or one that was made here. */
	readonly id: string;
	/** Its address as a pattern, as the table of routes has it; null as long as there is none for it. */
	route: string | null;
	/** The public id of the programme that called. */
	programme: string | null;
	/** Of the trace that the caller says it belongs to; null where it says nothing. */
	readonly traceId: string | null;
}

/** A request that has been answered, or given up by its caller. */
export interface AnsweredRequest extends RequestRecord {
	method: string;
	/** Null when the caller went away before there was an answer. */
	status: number | null;
	/** Until the answer's first byte, and until its last. */
	headMs: number;
	tookMs: number;
	/** Of the answer, with its head. */
	sentBytes: number;
	/** Of whoever called, as far as the trusted proxies tell. */
	findAddress(): string;
}

export interface Random {
	bytes(count: number): Uint8Array;
	/** `2 × count` lower-case hex digits. Separate from `bytes` because every attempt needs a nonce. */
	hex(count: number): string;
}

/** One signed request, byte for byte as it goes out. */
export interface PostbackRequest {
	url: string;
	/** A name, its value, the next name, …: what the contract lists, without what HTTP itself adds. */
	headers: readonly string[];
	body: string;
}

export interface PostbackAnswer {
	outcome: Outcome;
	timings: AttemptTimings;
	/**
	 * What is kept of an answer that is not 2xx; null for everything else. Resolves when the body's beginning is in, half
	 * a second later at most and never after the attempt's deadline. Never rejects.
	 */
	kept: Promise<KeptAnswer> | null;
}

export interface Transport {
	/** Never rejects: whatever happens on the way is an outcome. */
	post(request: PostbackRequest): Promise<PostbackAnswer>;
	/** The addresses a host name stands for now, or a word on why there are none. */
	lookUp(host: string): Promise<LookUp>;
	close(): Promise<void>;
}

export type LookUp = { ok: true; addresses: readonly string[] } | { ok: false; code: string };

/** What the address policy lets through although it is private. Empty but in development. */
export interface AddressPolicy {
	allowedPrivateRanges: readonly AddressRange[];
}

export interface Mail {
	/** One reader: whom the server refuses holds up nobody else. */
	to: string;
	subject: string;
	text: string;
	/** Otherwise as MAIL_FROM says. */
	from?: MailSender;
	/** Where an answer goes, unless it is the sender. */
	replyTo?: string;
}

/** Each is MAIL_FROM's own where it is null. */
export interface MailSender {
	name: string | null;
	address: string | null;
}

export interface Mailer {
	/**
	 * Null when the server took it; otherwise why it did not take this one mail. Rejects when the server itself failed: it
	 * would take no other one either.
	 */
	send(mail: Mail): Promise<MailRefusal | null>;
}

/** The server answers, and does not take this one mail: because of the address, or of its text. */
export interface MailRefusal {
	/** What the server said. */
	reason: string;
}

/** Bytes that are too many to hold: on a disk, for as long as a request takes. */
export interface TemporaryFiles {
	create(): Promise<TemporaryFile>;
}

export interface TemporaryFile {
	append(bytes: Uint8Array): Promise<void>;
	/** From the first byte, as often as asked; a piece at a time. */
	read(): AsyncIterable<Uint8Array>;
	/** Whoever made it removes it. */
	remove(): Promise<void>;
}

/** Structured log lines; the real one is pino. */
export interface Log {
	info(fields: object, message: string): void;
	warn(fields: object, message: string): void;
	error(fields: object, message: string): void;
}
