// A partner's event stream, as a client reads it over HTTP.

import { createMessageReader } from "../../receiver/src/command/stream-message.ts";
import { sha256Hex } from "../../src/domain/signature.ts";
import { createPerson } from "../../src/people/people.ts";
import type { Service } from "../../src/service.ts";
import { insertApiToken, revokeApiToken } from "../../src/store/queries/api-tokens.ts";
import type { Partner } from "../../src/store/queries/partners.ts";
import { expectValue } from "./shop-account.ts";

export interface StreamedEvent {
	event: string;
	id: string;
	fields: Record<string, unknown>;
	data: string;
	signed: {
		method: "GET" | "POST";
		path: string;
		timestamp: string;
		nonce: string;
		signature: string;
	} | null;
}

export interface PartnerStream {
	status: number;
	/** The code of the problem if the stream was refused. */
	code: string | null;
	/** The messages with data so far. The first one is the greeting. */
	readonly messages: readonly StreamedEvent[];
	/** Names of the events so far. */
	readonly events: readonly string[];
	readonly hasEnded: boolean;
	close(): void;
}

/** An API token of a partner or of the network. */
export interface StreamToken {
	token: string;
	revoke(): Promise<void>;
}

/** Number of tokens so far, which makes them and the addresses of their issuers unique. */
let tokens = 0;

/** Issues a token of a partner, or one of the network if the partner is null. */
export async function issueStreamToken(
	deps: Pick<Service, "store" | "clock" | "random">,
	partner: Partner | null,
	lifetimeMs: number | null = null,
): Promise<StreamToken> {
	const { store, clock } = deps;
	const email = `issuer${++tokens}@network.example`;
	const issuer = expectValue(await createPerson(deps, { email, kind: "staff" }));
	const nowMs = clock.nowMs();
	const token = `${partner === null ? "rbn" : "rbp"}_${String(tokens).padStart(64, "0")}`;
	const row = await insertApiToken(store.db, {
		public_id: `tok_${tokens}`,
		partner_id: partner?.id ?? null,
		name: "listen",
		hash: sha256Hex(token),
		hint: token.slice(-4),
		token_right: partner === null ? "read" : "partner",
		issued_by: issuer.id,
		created_at_ms: nowMs,
		expires_at_ms: lifetimeMs === null ? null : nowMs + lifetimeMs,
	});
	return {
		token,
		async revoke() {
			await revokeApiToken(store.db, row.partner_id, row.public_id, clock.nowMs());
			store.announceChange(null);
		},
	};
}

export async function openPartnerStream(url: string, token: string, after?: string): Promise<PartnerStream> {
	const hangUp = new AbortController();
	const query = after === undefined ? "" : `?after=${encodeURIComponent(after)}`;
	const answer = await fetch(`${url}/v1/partner/events${query}`, {
		headers: { authorization: `Bearer ${token}` },
		signal: hangUp.signal,
	});
	const messages: StreamedEvent[] = [];
	let hasEnded = false;
	const stream = {
		status: answer.status,
		code: null as string | null,
		messages,
		get events() {
			return messages.slice(1).map(({ event }) => event);
		},
		get hasEnded() {
			return hasEnded;
		},
		close: () => hangUp.abort(),
	};
	if (!answer.ok) {
		const problem: unknown = await answer.json();
		return { ...stream, code: String(Object(problem).code) };
	}
	const follow = async (): Promise<void> => {
		const read = createMessageReader();
		try {
			for await (const bytes of answer.body ?? []) {
				for (const { event, id = "", data, signed } of read(bytes)) {
					if (event === "") continue;
					messages.push({
						event,
						id,
						data,
						fields: JSON.parse(data),
						signed: signed ? JSON.parse(signed) : null,
					});
				}
			}
		} catch {
			// The test has closed the stream.
		}
		hasEnded = true;
	};
	void follow();
	return stream;
}
