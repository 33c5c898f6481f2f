// The order a call speaks of, for the inbound log: found also in a call that is refused for something else.

import * as z from "zod";
import { parseOrderId } from "../domain/order-id.ts";

const MENTION = z.object({ orderId: z.string() });

export function mentionedOrderId(input: unknown): string | null {
	const mention = MENTION.safeParse(input);
	if (!mention.success) return null;
	const orderId = parseOrderId(mention.data.orderId);
	return orderId.ok ? orderId.value : null;
}
