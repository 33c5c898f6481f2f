// Settings of the network that staff change: its name, its look, its time zone, the sender of its mails, and its brand in
// header names. The brand can be changed until a programme other than the sample has an API key.

import type { Updateable } from "kysely";
import { readName } from "../domain/display-name.ts";
import {
	type Checked,
	type Fault,
	fault,
	listFaults,
	type Result,
	refuse,
	refuseAll,
	succeed,
} from "../domain/fault.ts";
import {
	parseBrand,
	parseSenderAddress,
	parseSenderName,
	parseSupportAddress,
	suggestBrand,
} from "../domain/network.ts";
import { sha256Hex } from "../domain/signature.ts";
import { parseTimeZone } from "../domain/zone-day.ts";
import { composeTestMail } from "../mail/letters.ts";
import { sayMailError } from "../mail/network-mailer.ts";
import { type Actor, personIdOf, type SignedInPerson, STAFF, transactAs } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { LIMITS, useLimits } from "../people/limits.ts";
import type { Mailer } from "../ports.ts";
import type { Locked } from "../store/locked.ts";
import type { NetworkCache } from "../store/network-cache.ts";
import { noteAudit } from "../store/queries/audit.ts";
import {
	changeNetworkRow,
	lockNetwork,
	type NetworkSettings,
	storeMailTest,
} from "../store/queries/network.ts";
import type { Db } from "../store/store.ts";
import type { NetworkTable } from "../store/tables/network.ts";
import { judgeLogo, LOGO_TYPE } from "./logo.ts";

export interface NetworkDeps extends Pick<AccountsDeps, "store" | "clock"> {
	network: NetworkCache;
}

/** Settings as the person typed them. A field that is missing is not changed. */
export type NetworkInput = Partial<Record<NetworkField, string>>;
export type NetworkField = keyof typeof FIELDS;

const FIELDS = {
	name: { column: "name", parse: (text) => readName(text, "the network's") },
	brand: { column: "brand", parse: parseBrand },
	colour: { column: "colour", parse: parseColour },
	supportAddress: { column: "support_address", parse: parseSupportAddress },
	timeZone: { column: "time_zone", parse: parseTimeZone },
	senderName: { column: "sender_name", parse: parseSenderName },
	senderAddress: { column: "sender_address", parse: parseSenderAddress },
} as const satisfies Record<
	string,
	{ column: keyof NetworkTable; parse(text: string): Result<string | null> }
>;

const FIELD_NAMES = Object.keys(FIELDS).filter((name): name is NetworkField => name in FIELDS);

/** Number of hex digits of a logo's hash. Eight bytes are enough to distinguish two logos. */
const HASH_LENGTH = 16;

/** Changes the network's settings. Resolves to the names of the fields that were changed. */
export async function changeNetwork(
	deps: NetworkDeps,
	actor: Actor,
	input: NetworkInput,
): Promise<Checked<readonly NetworkField[]>> {
	const wanted: Updateable<NetworkTable> = {};
	const faults: Fault[] = [];
	for (const name of FIELD_NAMES) {
		const text = input[name];
		const parsed = text === undefined ? undefined : parse(name, text, input);
		if (parsed?.ok === false) faults.push(parsed.fault);
		else if (parsed !== undefined) Object.assign(wanted, { [FIELDS[name].column]: parsed.value });
	}
	if (faults.length > 0) return refuseAll(faults);
	const changed = await transactAs<readonly NetworkField[]>(deps.store, actor, STAFF, async (trx) => {
		const network = await lockNetwork(trx);
		const names = FIELD_NAMES.filter((name) => isChange(name, wanted, network));
		if (names.includes("brand")) {
			const refusal = judgeBrandChange(deps, network);
			if (refusal !== null) return { ok: false, fault: refusal } as const;
		}
		if (names.length === 0) return succeed(names);
		await changeNetworkRow(trx, network, wanted);
		const changes = names.map((name) => {
			const { column } = FIELDS[name];
			return `${name}: ${network[column] ?? "none"} → ${wanted[column] ?? "none"}`;
		});
		await noteChange(trx, deps, actor, changes.join("; "));
		return succeed(names);
	});
	deps.network.forget();
	return listFaults(changed);
}

function noteChange(trx: Db, { clock }: NetworkDeps, actor: Actor, detail: string): Promise<void> {
	const entry = { personId: personIdOf(actor), action: "network.changed", detail } as const;
	return noteAudit(trx, entry, clock.nowMs());
}

/** Parses one field. If the brand is empty, a brand is made from the network's name. */
function parse(field: NetworkField, text: string, { name = "" }: NetworkInput): Result<string | null> {
	if (field !== "brand" || text.trim() !== "") return FIELDS[field].parse(text);
	const brand = suggestBrand(name);
	if (brand !== null) return succeed(brand);
	return refuse("invalid_brand", "No brand can be made from this name. Enter one, such as Acme.", "brand");
}

function isChange(name: NetworkField, wanted: Updateable<NetworkTable>, before: NetworkSettings): boolean {
	const { column } = FIELDS[name];
	return column in wanted && wanted[column] !== before[column];
}

function judgeBrandChange(
	{ network }: NetworkDeps,
	{ brand, brand_is_fixed }: Locked<NetworkSettings>,
): Fault | null {
	const { brand: present, brandState } = network.face;
	if (brandState === "given") {
		const detail = `The brand is set to ${present} by RINGBACK_BRAND. Change the setting and restart.`;
		return fault("brand_is_fixed", detail, "brand");
	}
	if (brand_is_fixed === 0) return null;
	const detail = `The brand stays ${brand ?? present}, because a shop has an API key and relies on the header names.`;
	return fault("brand_is_fixed", detail, "brand");
}

export async function saveLogo(
	deps: NetworkDeps,
	actor: SignedInPerson,
	bytes: Uint8Array,
): Promise<Result<{ width: number; height: number }>> {
	const judged = judgeLogo(bytes);
	if (!judged.ok) return judged;
	const { width, height, bytes: shown } = judged.value;
	const saved = await changeRow(deps, actor, {
		logo_type: LOGO_TYPE,
		logo_hash: sha256Hex(shown).slice(0, HASH_LENGTH),
		logo_width: width,
		logo_height: height,
		logo_data: Buffer.from(shown).toString("base64"),
	});
	return saved.ok ? succeed({ width, height }) : saved;
}

export function removeLogo(deps: NetworkDeps, actor: SignedInPerson): Promise<Result<true>> {
	return changeRow(deps, actor, {
		logo_type: null,
		logo_hash: null,
		logo_width: null,
		logo_height: null,
		logo_data: null,
	});
}

/** Ends the guided set-up, so that pages no longer offer it. */
export function endSetUp(deps: NetworkDeps, actor: Actor): Promise<Result<true>> {
	return changeRow(deps, actor, { set_up_ended_at_ms: deps.clock.nowMs() });
}

async function changeRow(
	deps: NetworkDeps,
	actor: Actor,
	change: Partial<NetworkSettings> & Updateable<Pick<NetworkTable, "logo_data">>,
): Promise<Result<true>> {
	const changed = await transactAs<true>(deps.store, actor, STAFF, async (trx) => {
		const network = await lockNetwork(trx);
		await changeNetworkRow(trx, network, change);
		const after = { ...network, ...change };
		const detail = "logo_data" in change ? `logo: ${sayLogo(network)} → ${sayLogo(after)}` : "set-up: ended";
		await noteChange(trx, deps, actor, detail);
		return succeed(true);
	});
	deps.network.forget();
	return changed;
}

function sayLogo({ logo_width: width, logo_height: height }: NetworkSettings): string {
	return width === null || height === null ? "none" : `${width} × ${height}`;
}

/**
 * Sends a test mail to the person at once. If the mail server refuses the mail, the refusal contains the server's
 * reply.
 */
export async function sendTestMail(
	{ store, clock, network, mailer }: NetworkDeps & { mailer: Mailer | null },
	person: { personId: number; email: string },
): Promise<Result<true>> {
	if (mailer === null) {
		return refuse("mail_off", "Mail is off. Set SMTP_URL and MAIL_FROM, and restart the service.");
	}
	const use = { limit: LIMITS.mailsBy, subject: String(person.personId) };
	const tooMany = await useLimits(store.db, [use], clock.nowMs());
	if (tooMany !== null) return tooMany;
	const refusal = await mailer.send(composeTestMail(person.email)).then(
		(refused) => refused?.reason ?? null,
		(error: unknown) => sayMailError(error),
	);
	if (refusal !== null) {
		return refuse("mail_refused", `The mail server did not accept the test mail. It said: ${refusal}`);
	}
	await storeMailTest(store.db, clock.nowMs());
	network.forget();
	return succeed(true);
}

/**
 * Colour as a number sign and six lower-case hex digits. `writeTheme` in web/assets makes sure that text on this
 * colour is readable.
 */
type Colour = string;

/** Parses a colour. Returns null for an empty field, which means the default colour. */
export function parseColour(text: string): Result<Colour | null> {
	const typed = text.trim().toLowerCase();
	if (typed === "") return succeed(null);
	const [, digits = ""] = /^#?([\da-f]{6}|[\da-f]{3})$/.exec(typed) ?? [];
	if (digits === "") {
		return refuse(
			"invalid_colour",
			`"${text}" is not a colour. Enter six hex digits, such as #3b4fd8.`,
			"colour",
		);
	}
	return succeed(`#${digits.length === 3 ? digits.replace(/./g, "$&$&") : digits}`);
}
