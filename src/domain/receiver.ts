// Receivers of callbacks. A receiver is the shop of a programme, or a partner. Each has one callback URL and
// its own signing secrets. The engine knows only receivers, so callbacks are sent to shops and partners in
// the same way.

declare const IS_RECEIVER_ID: unique symbol;

/**
 * Row id of a receiver. It is a distinct type, so a programme's or partner's id in its place does not
 * compile.
 */
export type ReceiverId = number & { readonly [IS_RECEIVER_ID]: true };

export type ReceiverKind = "shop" | "partner";
