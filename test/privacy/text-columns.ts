// Every text column of every table, with what an erasure does to it. A new column must be added here, and if people can
// enter something into it, the filled network must do so, or the tests of this folder fail.

/**
 * What may be in a column, and what becomes of it:
 * - `ours`: ids, codes, amounts and states that the program writes. Nobody can enter a name.
 * - `kept`: entered by people, but about the shop or the network, so it stays.
 * - `erased`: names, addresses and texts, which an erasure removes or replaces.
 * - `passing`: removed by retention in any case, some days later at most.
 * - `log`: removed by retention after RINGBACK_RETENTION_DAYS.
 * - `legal`: stays for the legal period if an issued statement needs it.
 */
export type TextKind = "ours" | "kept" | "erased" | "passing" | "log" | "legal";

type Columns = Partial<Record<TextKind, string>>;

/** The columns of each table by kind, separated by spaces. */
export const TEXT_COLUMNS: Readonly<Record<string, Columns>> = {
	api_keys: { ours: "public_id hash hint key_right", kept: "name" },
	api_references: { ours: "kind request_hash", erased: "reference resource" },
	api_tokens: { ours: "public_id hash hint token_right", erased: "name" },
	applications: { ours: "public_id", erased: "name email site about", kept: "terms" },
	attempts: { ours: "result nonce signature", erased: "detail answer" },
	audit_entries: { ours: "action", erased: "subject detail address" },
	// What is sealed here is random.
	authenticators: { ours: "secret backup_codes" },
	changes_to_tell: { ours: "topic" },
	chores: { ours: "name error" },
	click_quarters: { ours: "kind" },
	conversions: {
		ours: "public_id event_type status basket_value commission network_fee currency rates fee_rate first_commission refunded_value reason source pixel_basket_value decided_by",
		kept: "order_id",
	},
	coupon_codes: { erased: "folded code" },
	credits: { ours: "word", erased: "sub_1 sub_2 sub_3" },
	endpoints: { erased: "url", ours: "form events" },
	entries: { ours: "kind amount currency", legal: "reason sub_1 sub_2 sub_3" },
	erasures: { ours: "kind public_id position", erased: "sealed_words" },
	events: { ours: "public_id name", erased: "body" },
	inbound_calls: {
		ours: "kind method outcome conversion request_id",
		log: "target",
		kept: "detail order_id",
	},
	job_lines: { passing: "lines verdicts" },
	jobs: {
		ours: "public_id kind decided_by state lines failure claim",
		erased: "file_name list_query summary",
	},
	kept_keys: { ours: "former_id kind sealed" },
	landing_hosts: { kept: "host" },
	limit_counts: { ours: "subject" },
	local_answers: { ours: "conversion event outcome", kept: "code" },
	mail_queue: { erased: "to_address refusal", ours: "topic", passing: "subject sealed_text" },
	moves: { ours: "move to_status decided_by reason announced_body lost_commission" },
	network: {
		ours: "sample_programme colour time_zone minimum_payouts logo_type logo_hash logo_data",
		kept: "name brand support_address postal_address sender_name sender_address backup_note backup_failure",
	},
	nonces: { ours: "nonce" },
	notices: {
		ours: "public_id kind ended_by last_result last_verdict",
		erased: "last_detail mailed_to mail_refused_to",
	},
	open_entries: { ours: "kind amount currency" },
	partner_links: { erased: "code name target" },
	partners: { ours: "public_id vat_percent", erased: "name site vat_note" },
	partnership_rates: { ours: "commission_rate event_rates" },
	partnerships: { ours: "public_id commission_rate event_rates", kept: "terms" },
	passwords: { ours: "hash" },
	payment_details: { erased: "sealed" },
	payments: { ours: "paid_on", legal: "reference" },
	people: { ours: "public_id kind zone locale mails_sales", erased: "email name" },
	processes: { ours: "instance host role version mail_error known_keys" },
	programme_people: { ours: "role" },
	programme_rates: { ours: "commission_rate fee_rate event_rates" },
	programmes: {
		ours: "public_id currency commission_rate fee_rate event_rates basket_rule click_parameter",
		kept: "name basket_note partner_terms",
	},
	receivers: { ours: "kind" },
	refunds: { ours: "amount basket_value reason", kept: "refund_id" },
	sale_news: { ours: "day kind reason currency commission named" },
	schema_versions: { ours: "name" },
	sealing_key: { ours: "present_id former_id next_id" },
	sessions: { ours: "id token_hash", erased: "address user_agent" },
	sign_in_challenges: { ours: "token_hash" },
	sign_in_links: { ours: "public_id purpose token_hash role withdrawn", erased: "email" },
	signing_secrets: { ours: "public_id sealed hint" },
	spent_codes: { ours: "code_hash" },
	statement_lines: { kept: "programme_name", ours: "earned changed" },
	statements: {
		ours: "public_id number currency month time_zone opening earned changed adjusted total",
		legal: "sealed_parties",
	},
	undelivered: { ours: "state" },
};

/** Tables of SQLite's search index, which contains order ids. They belong to the shop. */
export const SEARCH_INDEX = /^order_/;

/** Returns the columns of these kinds, such as "people.email". */
export function columnsOf(...kinds: readonly TextKind[]): string[] {
	return Object.entries(TEXT_COLUMNS)
		.flatMap(([table, columns]) =>
			kinds.flatMap((kind) => wordsIn(columns[kind]).map((column) => `${table}.${column}`)),
		)
		.toSorted();
}

/** Returns the names of all listed columns of a table. */
export function listedColumns(table: string): string[] {
	return Object.values(TEXT_COLUMNS[table] ?? {}).flatMap(wordsIn);
}

function wordsIn(text: string | undefined): string[] {
	return text === undefined ? [] : text.split(" ");
}
