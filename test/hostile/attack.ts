// One way in which a shop misbehaves, and the result that must be stored for its delivery. Two processes read
// the same table of attacks: one that plays the shops, and one that runs the service and checks it.

import type { Socket } from "node:net";
import type { SecureVersion } from "node:tls";
import type { Verdict } from "#core/domain/verdict.ts";

export interface Attack {
	/** Predicate of a sentence that begins with "The shop", such as "never answers". */
	name: string;
	/** TLS options of the shop. By default its TLS is correct. */
	manners?: Manners;
	/** Runs instead of a TLS handshake, on the bare TCP connection. */
	onConnection?: (socket: Socket) => void;
	/** Returns a function that writes the shop's TLS bytes to the connection, for example slowly. */
	openWire?: (socket: Socket) => (bytes: Buffer) => void;
	/** Runs after the handshake, before anything is read. */
	onSecure?: (socket: Socket, means: Means) => void;
	/** Runs after a whole request was read. */
	onRequest?: (socket: Socket, means: Means) => void;
	/** True if the attack is made on a connection that was just used for a correct delivery. */
	isOnKept?: boolean;
	expected: readonly Expected[];
}

export interface Manners {
	certificate?: CertificateName;
	minVersion?: SecureVersion;
	maxVersion?: SecureVersion;
	ciphers?: string;
	alpn?: readonly string[];
	wantsClientCertificate?: boolean;
}

export type CertificateName =
	| "good"
	| "expired"
	| "not yet valid"
	| "self-signed"
	| "wrong name"
	| "untrusted"
	| "deep"
	| "long"
	| "huge"
	| "too huge";

export interface Means {
	/** Port to which redirects lead. The service must never connect to it. */
	decoyPort: number;
	/** Port of the shop itself. */
	port: number;
	/** Closes the connection with RST instead of an orderly close. */
	reset(): void;
}

/**
 * The form in which the attempt must be stored. There are several alternatives only if a race decides between
 * them.
 */
export interface Expected {
	result: "answered" | "timeout" | "network-error";
	status: number | null;
	detail: RegExp | null;
	verdict: Verdict;
}

export function answers(status: number, verdict: Verdict): readonly Expected[] {
	return [{ result: "answered", status, detail: null, verdict }];
}

export function timesOut(): readonly Expected[] {
	return [
		{ result: "timeout", status: null, detail: /^TIMEOUT \((connect|tls|exchange)\)$/, verdict: "retry" },
	];
}

/** Returns the expectation that the connection breaks. `detail` matches the text that the owner reads. */
export function breaks(detail: RegExp): readonly Expected[] {
	return [{ result: "network-error", status: null, detail, verdict: "retry" }];
}
