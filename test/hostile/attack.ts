// One way in which a shop misbehaves, and the stored result that its delivery must have. Two processes read the same
// table: the one that plays the shops, and the one that runs the service and checks it.

import type { Socket } from "node:net";
import type { SecureVersion } from "node:tls";
import type { Verdict } from "../../src/domain/verdict.ts";

export interface Attack {
	/** Predicate of a sentence that begins with "The shop". */
	name: string;
	/** TLS behaviour of the shop; correct by default. */
	manners?: Manners;
	/** Runs in place of a handshake, on the bare TCP connection. */
	onConnection?: (socket: Socket) => void;
	/** Opens the function that writes the shop's TLS bytes to the wire, for example slowly. */
	openWire?: (socket: Socket) => (bytes: Buffer) => void;
	/** Runs after the handshake, before anything is read. */
	onSecure?: (socket: Socket, means: Means) => void;
	/** Runs after a whole request was read. */
	onRequest?: (socket: Socket, means: Means) => void;
	/** True if the attack comes on a connection that was just used for a correct delivery. */
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
	/** Port to which redirects lead. Nothing may ever connect to it. */
	decoyPort: number;
	/** The shop's own port. */
	port: number;
	/** Closes the connection with RST instead of a clean end. */
	reset(): void;
}

/** An attempt as it must be stored. There are several alternatives only if a race decides. */
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

/** `detail` is the text that the owner reads. */
export function breaks(detail: RegExp): readonly Expected[] {
	return [{ result: "network-error", status: null, detail, verdict: "retry" }];
}
