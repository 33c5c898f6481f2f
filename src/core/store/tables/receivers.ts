// Receivers of callbacks, every Postback URL that they have had, and their signing secrets.

import type { Generated } from "kysely";
import type { CallbackForm, ReceiverId, ReceiverKind } from "../../domain/receiver.ts";

/**
 * Each row is a receiver of callbacks. Every programme has one, which is its shop. A partner gets one when its first
 * URL is saved.
 */
export interface ReceiversTable {
	id: Generated<ReceiverId>;
	kind: ReceiverKind;
	/** Programme whose shop this receiver is, or null for a partner. */
	programme_id: number | null;
	partner_id: number | null;
	endpoint_id: number | null;
	/** Number that rises when the URL is removed. Pending deliveries with an older epoch are cancelled. */
	endpoint_epoch: Generated<number>;
	last_mailed_at_ms: number | null;
	/** Time of the first successful callback. It is stored only once. */
	first_callback_at_ms: number | null;
}

/**
 * Each row is a Postback URL that was saved at some time. Rows are never deleted, so that an old attempt still shows
 * where it was sent.
 */
export interface EndpointsTable {
	id: Generated<number>;
	receiver_id: ReceiverId;
	/** The URL. The URL of a GET callback has macros in its query. */
	url: string;
	form: Generated<CallbackForm>;
	/** Names of the events that are sent to the URL, separated by spaces. */
	events: Generated<string>;
	saved_at_ms: number;
}

export interface SigningSecretsTable {
	id: Generated<number>;
	public_id: string;
	receiver_id: ReceiverId;
	/** Signing secret, encrypted with AES-256-GCM. See domain/sealing.ts. */
	sealed: string;
	/** Last characters of the secret, so that people can distinguish secrets. */
	hint: string;
	created_at_ms: number;
	/** Time of activation. Null while the secret is only prepared. See domain/secret-life.ts. */
	activated_at_ms: number | null;
	/** Time at which another secret replaced this one. Inbound requests may still be signed with it for a while. */
	replaced_at_ms: number | null;
	/** Time at which a person discarded the secret, or ended it before its grace period was over. */
	ended_at_ms: number | null;
	/**
	 * Person who prepared the secret, or null if it was created on the command line or with the programme's first key.
	 */
	prepared_by: number | null;
}
