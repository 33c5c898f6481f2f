// One way in which a shop misbehaves, and what must be on record of the delivery it does that to. The same
// table is read twice: by the process that plays the shops, and by the one that has the service and checks it.

import type { Socket } from "node:net";
import type { SecureVersion } from "node:tls";
import type { Verdict } from "../../src/domain/verdict.ts";

export interface Attack {
	/** A sentence's predicate: the shop … */
	name: string;
	/** What its TLS is like; a good one if not given. */
	manners?: Manners;
	/** In place of a handshake, on the bare TCP connection. */
	onConnection?: (socket: Socket) => void;
	/** Opens its way to put onto the wire what the shop's own TLS sends: as slowly as it likes. */
	openWire?: (socket: Socket) => (bytes: Buffer) => void;
	/** The handshake is done, nothing was read yet. */
	onSecure?: (socket: Socket, means: Means) => void;
	/** A whole request was read. */
	onRequest?: (socket: Socket, means: Means) => void;
	/** The attack comes on a connection that a proper delivery has just been made on. */
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
	/** Nobody may ever come here: where redirects lead to. */
	decoyPort: number;
	/** The shop's own. */
	port: number;
	/** With RST where a plain close says goodbye. */
	reset(): void;
}

/** An attempt as it must be stored. More than one is given only where a race decides. */
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

/** `detail` is what the owner reads. */
export function breaks(detail: RegExp): readonly Expected[] {
	return [{ result: "network-error", status: null, detail, verdict: "retry" }];
}
