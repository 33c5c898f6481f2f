// What staff change about the network itself: its name, its look, who its mails come from, and, while nobody checks
// headers by it yet, its brand on the wire.

import type { Updateable } from "kysely";
import { type Fault, fault, type Result, refuse, succeed } from "../domain/fault.ts";
import {
	parseBrand,
	parseNetworkName,
	parseSenderAddress,
	parseSenderName,
	parseSupportAddress,
	suggestBrand,
} from "../domain/network.ts";
import { sha256Hex } from "../domain/signature.ts";
import { composeTestMail } from "../mail/letters.ts";
import { sayMailError } from "../mail/network-mailer.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { LIMITS, useLimits } from "../people/limits.ts";
import type { Mailer } from "../ports.ts";
import { noteAudit } from "../store/queries/audit.ts";
import type { KnownNetwork } from "../store/queries/known-network.ts";
import { changeNetworkRow, lockNetwork, type NetworkRow } from "../store/queries/network.ts";
import type { NetworkTable } from "../store/tables/network.ts";
import { parseColour } from "./colour.ts";
import { judgeLogo } from "./image.ts";
import { type Checked, refuseAll } from "./programme-terms.ts";

export interface NetworkDeps extends Pick<AccountsDeps, "store" | "clock"> {
	network: KnownNetwork;
}

/** As people type it. What is left out stays as it is. */
export type NetworkInput = Partial<Record<NetworkField, string>>;
export type NetworkField = keyof typeof FIELDS;

const FIELDS = {
	name: { column: "name", parse: parseNetworkName },
	brand: { column: "brand", parse: parseBrand },
	colour: { column: "colour", parse: parseColour },
	supportAddress: { column: "support_address", parse: parseSupportAddress },
	senderName: { column: "sender_name", parse: parseSenderName },
	senderAddress: { column: "sender_address", parse: parseSenderAddress },
} as const satisfies Record<
	string,
	{ column: keyof NetworkTable; parse(text: string): Result<string | null> }
>;

const FIELD_NAMES = Object.keys(FIELDS).filter((name): name is NetworkField => name in FIELDS);

/** Eight bytes are enough to tell one logo from the next. */
const HASH_LENGTH = 16;

/** Resolves to the fields that were changed. */
export async function changeNetwork(
	deps: NetworkDeps,
	personId: number | null,
	input: NetworkInput,
): Promise<Checked<readonly NetworkField[]>> {
	const wanted: Updateable<NetworkTable> = {};
	const faults: Fault[] = [];
	for (const name of FIELD_NAMES) {
		const text = input[name];
		const parsed = text === undefined ? undefined : parse(name, text, input);
		if (parsed?.ok === false) faults.push(parsed.fault);
		else if (parsed !== undefined) wanted[FIELDS[name].column] = parsed.value;
	}
	if (faults.length > 0) return refuseAll(faults);
	const changed = await deps.store.transact(async (trx) => {
		const before = await lockNetwork(trx);
		const names = FIELD_NAMES.filter((name) => isChange(name, wanted, before));
		if (names.includes("brand")) {
			const refusal = judgeBrandChange(deps, before);
			if (refusal !== null) return { ok: false, fault: refusal } as const;
		}
		if (names.length === 0) return succeed(names);
		await changeNetworkRow(trx, wanted);
		const detail = names.map((name) => `${name}: ${wanted[FIELDS[name].column] ?? "none"}`).join("; ");
		await noteAudit(trx, { personId, action: "network.changed", detail }, deps.clock.nowMs());
		return succeed(names);
	});
	deps.network.forget();
	return changed.ok ? changed : refuseAll([changed.fault]);
}

/** A brand that is left empty is made from the name. */
function parse(field: NetworkField, text: string, { name = "" }: NetworkInput): Result<string | null> {
	if (field !== "brand" || text.trim() !== "") return FIELDS[field].parse(text);
	const brand = suggestBrand(name);
	if (brand !== null) return succeed(brand);
	return refuse("invalid_brand", "No brand can be made from this name. Enter one, such as Acme.", "brand");
}

function isChange(name: NetworkField, wanted: Updateable<NetworkTable>, before: NetworkRow): boolean {
	const { column } = FIELDS[name];
	return column in wanted && wanted[column] !== before[column];
}

function judgeBrandChange({ network }: NetworkDeps, { brand, secret_id }: NetworkRow): Fault | null {
	const { brand: present, brandState } = network.face;
	if (brandState === "given") {
		const detail = `The brand is set to ${present} by RINGBACK_BRAND. Change the setting and restart.`;
		return fault("brand_is_fixed", detail, "brand");
	}
	if (secret_id === null) return null;
	const detail = `The brand stays ${brand ?? present}: a programme has an API key, and shops rely on the header names.`;
	return fault("brand_is_fixed", detail, "brand");
}

export async function saveLogo(
	deps: NetworkDeps,
	personId: number,
	bytes: Uint8Array,
): Promise<Result<{ width: number; height: number }>> {
	const judged = judgeLogo(bytes);
	if (!judged.ok) return judged;
	const { type, width, height } = judged.value;
	await changeLogo(deps, personId, `logo: ${type}, ${width} × ${height}`, {
		logo_type: type,
		logo_hash: sha256Hex(bytes).slice(0, HASH_LENGTH),
		logo_width: width,
		logo_height: height,
		logo_data: Buffer.from(bytes).toString("base64"),
	});
	return succeed({ width, height });
}

export async function removeLogo(deps: NetworkDeps, personId: number): Promise<void> {
	await changeLogo(deps, personId, "logo: none", {
		logo_type: null,
		logo_hash: null,
		logo_width: null,
		logo_height: null,
		logo_data: null,
	});
}

async function changeLogo(
	deps: NetworkDeps,
	personId: number,
	detail: string,
	change: Updateable<NetworkTable>,
): Promise<void> {
	await deps.store.transact(async (trx) => {
		await changeNetworkRow(trx, change);
		await noteAudit(trx, { personId, action: "network.changed", detail }, deps.clock.nowMs());
	});
	deps.network.forget();
}

/** The guided set-up is offered no more. */
export async function endSetUp(deps: NetworkDeps, personId: number | null): Promise<void> {
	const nowMs = deps.clock.nowMs();
	await deps.store.transact(async (trx) => {
		await changeNetworkRow(trx, { set_up_ended_at_ms: nowMs });
		await noteAudit(trx, { personId, action: "network.changed", detail: "set-up: ended" }, nowMs);
	});
	deps.network.forget();
}

/** A mail to oneself, sent at once. Resolves when the server has taken it, or with what the server said, in its words. */
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
	const said = await mailer.send(composeTestMail(person.email)).then(
		(refusal) => refusal?.reason ?? null,
		(error: unknown) => sayMailError(error),
	);
	if (said !== null) {
		return refuse("mail_refused", `The mail server did not accept the test mail. It said: ${said}`);
	}
	await changeNetworkRow(store.db, { mail_tested_at_ms: clock.nowMs() });
	network.forget();
	return succeed(true);
}
