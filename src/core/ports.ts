// Interfaces to the outside world that the service depends on. The real implementations are in outside/.
// Tests use a clock that they can move.

import type { AddressRange } from "./domain/address.ts";
import type { AnswerExcerpt } from "./domain/answer-excerpt.ts";
import type { AttemptTimings, Outcome } from "./domain/verdict.ts";

export interface Clock {
	/**
	 * Returns the current time in milliseconds. Every time that is stored, compared or signed comes from this
	 * function. On PostgreSQL it follows the database's clock, and on SQLite this machine's clock.
	 */
	nowMs(): number;
	/**
	 * Returns the monotonic time for measuring durations. Nobody can set this clock, and its zero point has no
	 * meaning. It stands still while the machine is suspended.
	 */
	monotonicMs(): number;
	/**
	 * Returns false while this machine's clock and the database's clock differ by more than a minute, and after
	 * the machine was suspended or its clock was set, until the database has been asked for the time. The time is
	 * unknown then, so no callback is sent and nothing is decided by time.
	 */
	isSure(): boolean;
	/** Calls `run` once after `delayMs`. The returned function cancels the call. */
	after(delayMs: number, run: () => void): () => void;
	/** Lets all other pending work of the event loop run first. Long work calls it between two batches. */
	yieldLoop(): Promise<void>;
}

/** Measures how well this process keeps up with its work. */
export interface Load {
	/**
	 * Returns the share of time, from 0 to 1, in which the event loop was working or waiting for a core. It
	 * covers the time since the last call.
	 */
	busyShare(): number;
	/**
	 * Returns the total time by which the event loop was late since the process started. Delays of a tenth of a
	 * second or less do not count.
	 */
	lateMs(): number;
}

export interface DiskSpace {
	/** Number of bytes that this account can still use on the disk. */
	freeBytes: number;
	sizeBytes: number;
}

/** Facts about an incoming request, which handlers add while they answer it. */
export interface RequestRecord {
	/** The caller's X-Request-Id if it is usable, otherwise an id that was generated here. */
	readonly id: string;
	/** Pattern of the matched route, or null if no route has matched yet. */
	route: string | null;
	/** Public id of the programme that sent the request, or null if it is not known. */
	programme: string | null;
	/** Order that the request is about, or null if it is not known. */
	order: string | null;
	/** Public id of the conversion that the request recorded, changed or read, or null. */
	conversion: string | null;
	/** Id of the trace that the caller named, or null if it named none. */
	readonly traceId: string | null;
}

/** An incoming request that has been answered, or whose caller disconnected. */
export interface AnsweredRequest extends RequestRecord {
	method: string;
	/** HTTP status of the answer, or null if the caller disconnected before there was one. */
	status: number | null;
	/** Time until the first byte of the answer. `tookMs` is the time until the last byte. */
	headMs: number;
	tookMs: number;
	/** Size of the answer including its headers. */
	sentBytes: number;
	/** Returns the client's address, as reported by the trusted proxies. */
	findAddress(): string;
}

export interface Random {
	bytes(count: number): Uint8Array;
	/**
	 * Returns `2 × count` random lower-case hex digits. It is a function of its own, because every attempt
	 * needs a nonce and this way is faster than converting bytes.
	 */
	hex(count: number): string;
}

/** One signed request, byte for byte as it is sent. It is a POST, unless it has a `getTarget`. */
export interface PostbackRequest {
	/** The saved URL. It names the host and, for a POST, the path and query. */
	url: string;
	/** Path and query of a GET request, in which the macros of the saved URL are filled in. */
	getTarget?: string;
	/**
	 * Header names and values in turn. These are the headers of the contract, without those that HTTP itself
	 * adds.
	 */
	headers: readonly string[];
	body: string;
}

export interface PostbackAnswer {
	outcome: Outcome;
	timings: AttemptTimings;
	/**
	 * The part of an answer that is stored, or null if the answer is 2xx or there is no answer. Resolves when
	 * the beginning of the body has arrived, at most half a second later and never after the attempt's
	 * deadline. Never rejects.
	 */
	excerpt: Promise<AnswerExcerpt> | null;
}

export interface Transport {
	/** Sends the request. Never rejects, because every failure is a possible outcome. */
	post(request: PostbackRequest): Promise<PostbackAnswer>;
	/** Returns the addresses of a host name, or an error code if there are none. */
	lookUp(host: string): Promise<LookUp>;
	close(): Promise<void>;
}

export type LookUp = { ok: true; addresses: readonly string[] } | { ok: false; code: string };

/** The private addresses that the address policy allows. The list is empty except in development. */
export interface AddressPolicy {
	allowedPrivateRanges: readonly AddressRange[];
}

export interface Mail {
	/** Address of the recipient. Each mail has only one, so that a refused recipient does not affect others. */
	to: string;
	subject: string;
	text: string;
	/** Sender of the mail. The default is MAIL_FROM. */
	from?: MailSender;
	/** Address for replies. The default is the sender. */
	replyTo?: string;
}

/** Name and address of a sender. If one of them is null, the value from MAIL_FROM is used. */
export interface MailSender {
	name: string | null;
	address: string | null;
}

export interface Mailer {
	/**
	 * Sends one mail. Returns null if the server accepted it, or the reason if the server refused only this
	 * mail. Rejects if the server itself failed, because it would not accept another mail either.
	 */
	send(mail: Mail): Promise<MailRefusal | null>;
}

/** A refusal of a single mail because of its recipient or its text. The server itself works. */
export interface MailRefusal {
	/** Text of the server's answer. */
	reason: string;
}

/** The company's identity provider, with which people sign in over OpenID Connect. */
export interface IdentityProvider {
	/** Address that identifies the provider, as it is set in RINGBACK_OIDC_ISSUER. */
	readonly issuer: string;
	/** Reads the provider's description of itself, which every sign-in needs. */
	check(): Promise<ProviderAnswer<true>>;
	/** Returns the address at the provider to which the browser is sent. */
	signInUrl(attempt: ProviderSignIn): Promise<ProviderAnswer<string>>;
	/**
	 * Exchanges the code with which the provider sent the browser back, and returns who signed in.
	 * `returnedTo` is the whole address that the browser opened. The answer is refused unless the provider
	 * signed it for this service and for this attempt.
	 */
	identify(returnedTo: string, attempt: ProviderSignIn): Promise<ProviderAnswer<Identity>>;
	close(): Promise<void>;
}

/** The values that bind one sign-in at the provider to one browser. */
export interface ProviderSignIn {
	/** Address of ours to which the provider sends the browser back. */
	redirectUri: string;
	/** Value that the provider returns in that address. */
	state: string;
	/** Value that the provider's signed answer must contain. */
	nonce: string;
	/** Secret of which the provider gets the hash first and the value with the code (PKCE). */
	codeVerifier: string;
}

/** What the provider says about the person who signed in. */
export interface Identity {
	email: string | null;
	/** True if the provider says that it has verified the address. */
	isEmailVerified: boolean;
}

export type ProviderAnswer<Value> =
	| { ok: true; value: Value }
	| {
			ok: false;
			/**
			 * "unavailable" if the provider did not answer or cannot be used, "declined" if it did not sign the
			 * person in, and "refused" if its answer did not pass a check.
			 */
			problem: "unavailable" | "declined" | "refused";
			/** Reason for the log. */
			reason: string;
	  };

/** Creates files on disk for data that is too large to hold in memory during a request. */
export interface TemporaryFiles {
	create(): Promise<TemporaryFile>;
}

export interface TemporaryFile {
	append(bytes: Uint8Array): Promise<void>;
	/** Reads the file from its first byte, in chunks. It can be read more than once. */
	read(): AsyncIterable<Uint8Array>;
	/** Deletes the file. The code that created it must call this. */
	remove(): Promise<void>;
}

/** Structured log. The real one is pino. */
export interface Log {
	info(fields: object, message: string): void;
	warn(fields: object, message: string): void;
	error(fields: object, message: string): void;
}
