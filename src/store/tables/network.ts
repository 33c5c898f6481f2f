// The network that runs Ringback: how it looks and what it is called. One row.

export interface NetworkTable {
	one: 1;
	name: string | null;
	/** Null until it is chosen, or the first signing secret is made: see store/known-wire. */
	brand: string | null;
	/** As domain/colour has it. */
	colour: string | null;
	support_address: string | null;
	sender_name: string | null;
	sender_address: string | null;
	logo_type: string | null;
	/** SHA-256 of its bytes, shortened: part of its address. */
	logo_hash: string | null;
	/** In pixels. */
	logo_width: number | null;
	logo_height: number | null;
	/** In base64, which both databases store alike. Never read together with the rest. */
	logo_data: string | null;
	/** When the mail server last took a test mail. */
	mail_tested_at_ms: number | null;
	/** When somebody finished the set-up, or did not want to see it any more. */
	set_up_ended_at_ms: number | null;
	/** When `ringback backup` last took what was stored by then. */
	backed_up_at_ms: number | null;
}
