// Receivers of callbacks. A receiver is the shop of a programme, or a partner. Each has one callback URL and its own signing
// secrets. Engines know nothing else of programmes and partners, so both kinds are sent to in the same way.

declare const IS_RECEIVER_ID: unique symbol;

/**
 * Row id of a receiver. A programme's or partner's id is a plain number, so it does not compile where a receiver's id is
 * needed.
 */
export type ReceiverId = number & { readonly [IS_RECEIVER_ID]: true };

export type ReceiverKind = "shop" | "partner";
