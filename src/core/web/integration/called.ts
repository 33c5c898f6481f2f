// Finds the receiver whose callbacks a page shows, which is the shop of the programme or the partner in the address.
// Lists of callbacks, the page of a callback, signing secrets and "Check a signature" work in the same way for both.

import type { ReceiverKind } from "../../domain/receiver.ts";
import type { CalledReceiver } from "../../programmes/receivers.ts";
import { findPartnerReceiver, type ReceiverColumns } from "../../store/queries/receivers.ts";
import type { Area } from "../menu.ts";
import { may, partnerOf, programmeOf, type WebContext, type WebDeps } from "../page.ts";
import {
	deliveryPath,
	integrationPath,
	keysPath,
	partnerCallbacksPath,
	partnerDeliveryPath,
	partnerSignaturePath,
	signaturePath,
} from "../paths.ts";

export interface CalledPages {
	kind: ReceiverKind;
	/** Public id of the programme or partner. */
	ownerId: string;
	area: Area;
	/** Page with the list of callbacks. Paths of its forms begin with this path. */
	path: string;
	/** Page with the signing secrets. Paths of their forms begin with this path. */
	secretsPath: string;
	signaturePath: string;
	deliveryPath(deliveryId: string): string;
	/** True if the reader may change the receiver and send callbacks. */
	mayIntegrate: boolean;
}

export interface Called extends CalledPages {
	columns: ReceiverColumns;
	/** Receiver in the form that use cases take. */
	receiver: CalledReceiver;
	/** Programme whose orders can be searched, or null for a partner, who must not see orders. */
	programmeId: number | null;
}

/** Returns the addresses of the pages about a receiver's callbacks. */
export function calledPagesOf(c: WebContext): CalledPages {
	if (c.get("programme") === undefined) return pagesOfPartner(partnerOf(c).public_id);
	const { public_id: ownerId } = programmeOf(c);
	return {
		kind: "shop",
		ownerId,
		area: "integration",
		path: integrationPath(ownerId),
		secretsPath: keysPath(ownerId),
		signaturePath: signaturePath(ownerId),
		deliveryPath: (deliveryId) => deliveryPath(ownerId, deliveryId),
		mayIntegrate: may(c, "integrate"),
	};
}

/** All people of a partner have the same rights. */
function pagesOfPartner(ownerId: string): CalledPages {
	const path = partnerCallbacksPath(ownerId);
	return {
		kind: "partner",
		ownerId,
		area: "partner-callbacks",
		path,
		secretsPath: path,
		signaturePath: partnerSignaturePath(ownerId),
		deliveryPath: (deliveryId) => partnerDeliveryPath(ownerId, deliveryId),
		mayIntegrate: true,
	};
}

/** Returns the receiver. Returns null for a partner that never saved a URL. */
export async function calledOf(c: WebContext, { store }: Pick<WebDeps, "store">): Promise<Called | null> {
	const pages = calledPagesOf(c);
	if (pages.kind === "shop") {
		const programme = programmeOf(c);
		return { ...pages, columns: programme, receiver: programme, programmeId: programme.id };
	}
	const partner = partnerOf(c);
	const columns = await findPartnerReceiver(store.db, partner.id);
	if (columns === undefined) return null;
	const { receiver_id } = columns;
	return { ...pages, columns, receiver: { receiver_id, partner }, programmeId: null };
}
