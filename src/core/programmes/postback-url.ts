// Saves and removes the URL of a receiver, which is the Postback URL of a programme's shop or the callback URL of a
// partner. A URL that is saved must satisfy the same rules that are checked before every delivery.

import type { EventName } from "../domain/event-name.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { isPartnerId } from "../domain/id.ts";
import { parseMacroUrl } from "../domain/macro-url.ts";
import { judgeHost, type PostbackUrl, parsePostbackUrl, refusePlaceholder } from "../domain/postback-url.ts";
import { ALL_EVENTS, type CallbackForm, writeChosenEvents } from "../domain/receiver.ts";
import type { Actor } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { AddressPolicy, Log, LookUp, Transport } from "../ports.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { bringRemovedForward } from "../store/queries/bring-forward.ts";
import { findOldestPending, MAX_COUNTED_UNDELIVERED } from "../store/queries/delivery-health.ts";
import {
	type Endpoint,
	presentEndpoint,
	presentUrl,
	removeEndpoint,
	setEndpoint,
} from "../store/queries/receivers.ts";
import { findActiveSecret } from "../store/queries/signing-secrets.ts";
import { changeReceiver, noteOn, type ReceiverChange } from "./receivers.ts";
import { formMayContinue, type Worked } from "./resend.ts";
import { makeSecret } from "./signing-secret.ts";

export interface PostbackUrlDeps extends Pick<AccountsDeps, "store" | "clock"> {
	transport: Pick<Transport, "lookUp">;
	addressPolicy: AddressPolicy;
	/**
	 * Log for the addresses of a refused host. If the page showed these addresses, owners could explore the server's
	 * network.
	 */
	log: Log;
}

export interface SavedPostbackUrl {
	url: string;
	/** Previous URL, or null if there was none. Its pending retries now go to the new URL. */
	replaced: string | null;
}

export async function savePostbackUrl(
	deps: PostbackUrlDeps,
	programmePublicId: string,
	text: string,
	actor: Actor,
): Promise<Result<SavedPostbackUrl>> {
	const parsed = refusePlaceholder(text) ?? parsePostbackUrl(text);
	const judged = parsed.ok ? await judgeUrl(deps, programmePublicId, parsed.value) : parsed;
	if (!judged.ok) return judged;
	const endpoint = { url: judged.value.href, form: "json", events: ALL_EVENTS } as const;
	return changeReceiver(deps, programmePublicId, actor, (change) => saveEndpoint(change, endpoint));
}

export interface PartnerUrlInput {
	url: string;
	form: CallbackForm;
	events: readonly EventName[];
}

export interface SavedPartnerUrl extends SavedPostbackUrl {
	/**
	 * Signing secret that was created with the receiver's first URL, or null if the receiver already had a secret. It
	 * is shown only once.
	 */
	secret: string | null;
}

/**
 * Saves the callback URL of a partner. A partner's first URL makes the partner a receiver and creates its signing
 * secret.
 */
export async function savePartnerUrl(
	deps: PostbackUrlDeps & Pick<AccountsDeps, "random" | "keyRing">,
	partnerPublicId: string,
	{ url: text, form, events }: PartnerUrlInput,
	actor: Actor,
): Promise<Result<SavedPartnerUrl>> {
	if (events.length === 0) {
		return refuse("no_event_chosen", "Choose at least one event, or remove the URL.", "events");
	}
	const parsed = form === "get" ? parseMacroUrl(text) : parseJsonUrl(text);
	const judged = parsed.ok ? await judgeUrl(deps, partnerPublicId, parsed.value) : parsed;
	if (!judged.ok) return judged;
	const endpoint = { url: judged.value.href, form, events: writeChosenEvents(events) };
	const save = async (change: ReceiverChange): Promise<Result<SavedPartnerUrl>> => {
		const { trx, receiver, owner, nowMs } = change;
		const hasSecret = (await findActiveSecret(trx, receiver.receiver_id)) !== undefined;
		const newSecret = hasSecret ? null : await makeSecret(trx, deps, { ...receiver, ...owner }, nowMs, nowMs);
		const saved = await saveEndpoint(change, endpoint);
		return saved.ok ? succeed({ ...saved.value, secret: newSecret?.secret ?? null }) : saved;
	};
	return changeReceiver(deps, partnerPublicId, actor, save, true);
}

/**
 * Parses the URL of JSON callbacks. If the URL has macros, the refusal names the form of callback that supports
 * macros.
 */
function parseJsonUrl(text: string): Result<PostbackUrl> {
	if (refusePlaceholder(text) === null) return parsePostbackUrl(text);
	return refuse(
		"postback_url_malformed",
		"Macros are filled in only in a GET callback. Choose GET, or enter the URL without macros.",
		"postbackUrl",
	);
}

/** Resolves the host of the URL, and refuses the URL if the host may not be called. */
async function judgeUrl(
	deps: PostbackUrlDeps,
	owner: string,
	url: PostbackUrl,
): Promise<Result<PostbackUrl>> {
	const lookUp = url.isLiteral ? undefined : await deps.transport.lookUp(url.hostname);
	const addresses = lookUp?.ok === true ? lookUp.addresses : [];
	const judged = judgeHost(url, addresses, deps.addressPolicy.allowedPrivateRanges);
	if (judged.ok) return succeed(url);
	logRefusal(deps.log, owner, url.hostname, judged.fault.code, lookUp);
	return judged;
}

async function saveEndpoint(change: ReceiverChange, endpoint: Endpoint): Promise<Result<SavedPostbackUrl>> {
	const { trx, receiver, nowMs } = change;
	const present = await presentEndpoint(trx, receiver.receiver_id);
	await setEndpoint(trx, receiver, endpoint, nowMs);
	const isSame =
		present?.url === endpoint.url && present.form === endpoint.form && present.events === endpoint.events;
	if (!isSame) {
		// The audit log gets the URL without its query, because shops put tokens into the query.
		const object = endpoint.url.replace(/\?.*$/s, "?…");
		await noteAudit(trx, noteOn(change, "urlSaved", { object }), nowMs);
	}
	return succeed({ url: endpoint.url, replaced: present?.url ?? null });
}

/**
 * Removes the URL. Nothing more is sent after the commit. Resolves to the number of pending callbacks that
 * the engine cancels, counted up to a limit.
 */
export async function removePostbackUrl(
	deps: Pick<AccountsDeps, "store" | "clock">,
	ownerPublicId: string,
	actor: Actor,
): Promise<Result<Worked>> {
	const removed = await changeReceiver(deps, ownerPublicId, actor, async (change) => {
		const { trx, receiver, nowMs } = change;
		const { receiver_id: receiverId } = receiver;
		const { count } = await findOldestPending(trx, receiverId);
		if ((await presentUrl(trx, receiverId)) !== undefined) {
			const detail = `${count}${count < MAX_COUNTED_UNDELIVERED ? "" : " or more"} callbacks were pending`;
			await noteAudit(trx, noteOn(change, "urlRemoved", { detail }), nowMs);
		}
		await removeEndpoint(trx, receiver, nowMs);
		return succeed({ receiverId, count });
	});
	if (!removed.ok) return removed;
	const { receiverId, count } = removed.value;
	const mayContinue = formMayContinue(deps.clock, actor);
	const isAll = await bringRemovedForward(deps.store, deps.clock, receiverId, mayContinue);
	return succeed({ count, isAll });
}

function logRefusal(log: Log, owner: string, host: string, code: string, lookUp: LookUp | undefined): void {
	const answer = lookUp?.ok === false ? { dns: lookUp.code } : { addresses: lookUp?.addresses ?? [host] };
	const whose = isPartnerId(owner) ? { partner: owner } : { programme: owner };
	log.warn({ ...whose, host, code, ...answer }, "a Postback URL was not saved");
}
