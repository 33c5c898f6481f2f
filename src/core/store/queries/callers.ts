// Reads that identify the senders of calls. Nearly every call of a quiet shop causes such a read, because caches last
// a second. One prepared statement reads a key with its programme and its secrets.

import type { Selectable } from "kysely";
import { REPLACED_SECRET_GRACE_MS } from "../../domain/secret-life.ts";
import type { KeyedRead } from "../module-parts.ts";
import type { Store } from "../store.ts";
import type { ProgrammesTable } from "../tables/programmes.ts";
import type { ApiKey } from "./keys.ts";
import type { Programme } from "./programmes.ts";
import type { ReceiverColumns } from "./receivers.ts";
import type { SigningSecret } from "./signing-secrets.ts";

/** API key with its programme and one of the secrets with which a request may be signed. */
export interface KeyHolder {
	apiKey: ApiKey;
	programme: Programme;
	secret: SigningSecret | null;
}

/** Returns a row for each usable secret of each key, the newest secret first. Unknown keys have no row. */
export function findKeyHolders(
	{ db, batch }: Pick<Store, "db" | "batch">,
	hashes: readonly string[],
	nowMs: number,
): Promise<KeyHolder[]> {
	const replaced_after_ms = nowMs - REPLACED_SECRET_GRACE_MS;
	return batch.find(
		db,
		KEY_HOLDER,
		hashes.map((hash) => ({ hash, replaced_after_ms })),
	);
}

export function findProgrammesToCall(
	{ db, batch }: Pick<Store, "db" | "batch">,
	publicIds: readonly string[],
): Promise<Programme[]> {
	return batch.find(
		db,
		PROGRAMME_OF_PUBLIC_ID,
		publicIds.map((public_id) => ({ public_id })),
	);
}

// The columns are named, because PostgreSQL refuses a prepared `select *` after a later program has added a column.

const API_KEY = selectAs("apiKey", "k", {
	id: true,
	public_id: true,
	programme_id: true,
	name: true,
	hash: true,
	hint: true,
	created_at_ms: true,
	revoked_at_ms: true,
	last_used_at_ms: true,
	key_right: true,
	issued_by: true,
} satisfies Record<keyof ApiKey, true>);

const PROGRAMME = selectAs("programme", "p", {
	id: true,
	public_id: true,
	name: true,
	currency: true,
	commission_rate: true,
	fee_rate: true,
	event_rates: true,
	approval_days: true,
	approval_days_min: true,
	approval_days_max: true,
	parks_pixels: true,
	parked_days: true,
	basket_rule: true,
	basket_note: true,
	credits_partners: true,
	click_days: true,
	click_parameter: true,
	shows_baskets: true,
	takes_applications: true,
	is_listed: true,
	partner_terms: true,
	created_at_ms: true,
	first_signed_at_ms: true,
	first_pixel_at_ms: true,
	archived_at_ms: true,
	weekly_mail_at_ms: true,
} satisfies Record<keyof Selectable<ProgrammesTable>, true>);

const RECEIVER = selectAs("programme", "r", {
	receiver_id: "id",
	endpoint_id: true,
	endpoint_epoch: true,
} satisfies Record<keyof ReceiverColumns, true | "id">);

const SECRET = selectAs("secret", "s", {
	id: true,
	public_id: true,
	receiver_id: true,
	sealed: true,
	hint: true,
	created_at_ms: true,
	activated_at_ms: true,
	replaced_at_ms: true,
	ended_at_ms: true,
	prepared_by: true,
} satisfies Record<keyof SigningSecret, true>);

const KEY_HOLDER: KeyedRead<{ hash: string; replaced_after_ms: number }, KeyHolder> = {
	key: { hash: "text", replaced_after_ms: "bigint" },
	text: `select ${API_KEY}, ${PROGRAMME}, ${RECEIVER}, ${SECRET}
		from api_keys k join programmes p on p.id = k.programme_id join receivers r on r.programme_id = p.id
		left join signing_secrets s on s.receiver_id = r.id and s.ended_at_ms is null
			and (s.replaced_at_ms is null or s.replaced_at_ms > :replaced_after_ms)
		where k.hash = :hash order by s.id desc`,
	rowOf(found) {
		const { apiKey, programme, secret } = partsOf(found);
		const holder = { apiKey, programme, secret } as {
			[Part in keyof KeyHolder]: NonNullable<KeyHolder[Part]>;
		};
		return { ...holder, secret: holder.secret.id === null ? null : holder.secret };
	},
};

const PROGRAMME_OF_PUBLIC_ID: KeyedRead<{ public_id: string }, Programme> = {
	key: { public_id: "text" },
	text: `select ${PROGRAMME}, ${RECEIVER} from programmes p join receivers r on r.programme_id = p.id
		where p.public_id = :public_id`,
	rowOf: (found) => partsOf(found)["programme"] as Programme,
};

/** Returns the columns of one part of a row, each under a name that begins with the name of the part. */
function selectAs(part: string, table: string, columns: Readonly<Record<string, true | string>>): string {
	const selected = Object.entries(columns).map(
		([name, column]) => `${table}.${column === true ? name : column} as "${part}.${name}"`,
	);
	return selected.join(", ");
}

function partsOf(found: object): Record<string, object> {
	const parts: Record<string, Record<string, unknown>> = {};
	for (const [path, value] of Object.entries(found)) {
		const [part = "", name = ""] = path.split(".");
		parts[part] ??= {};
		parts[part][name] = value;
	}
	return parts;
}
