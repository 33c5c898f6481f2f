// The exports of `@ringback/receiver` for a shop's server.

export type { BatchResult } from "./client/batch.ts";
export {
	type ApproveResult,
	type CallOptions,
	type Client,
	type ConversionResult,
	createClient,
	type DecideManyResult,
	type ListedConversion,
	type PageResult,
	type ProgrammeResult,
	type RecordManyResult,
	type RecordResult,
	type RefundResult,
	type RejectResult,
	type ReverseResult,
} from "./client/create-client.ts";
export type { CallFailure, Misconfigured } from "./client/failure.ts";
export type { ClientOptions } from "./client/options.ts";
export type { Programme } from "./client/programme.ts";
export type { RecordedRefund } from "./client/recorded-refund.ts";
export type { Approval, ConversionQuery, Decision, ReasonedDecision, Refund, Sale } from "./client/report.ts";
export type { RetryPolicy } from "./client/retry.ts";
export type { Conversion } from "./conversion-fields.ts";
export { isKnownEvent, type KnownEvent, type LaterEvent, type PostbackEvent } from "./event.ts";
export {
	createMemoryStore,
	type MemoryStoreOptions,
	type StoreEvent,
	type StoreResult,
} from "./event-store.ts";
export type { PostbackHeaders } from "./headers.ts";
export { createNonceMemory, type NonceMemory, type NonceMemoryOptions } from "./nonce-memory.ts";
export {
	type PartnerEvent,
	type PartnerRequest,
	type PartnerVerification,
	verifyPartnerCallback,
} from "./partner-callback.ts";
export { createReceiver, type Receiver, type ReceiverSource } from "./receiver.ts";
export type {
	ReceivedRequest,
	ReceiverOptions,
	Refused,
	RefusedReason,
} from "./receiver-options.ts";
export type { Answer, Arrival, Reception } from "./reception.ts";
export type { Refusal, RefusalReason } from "./refusal.ts";
export type { PostbackRequest } from "./request.ts";
export type { SecretSource, Secrets } from "./secrets.ts";
export { type RequestToSign, type SignedRequest, signRequest } from "./sign-request.ts";
export { type Verification, verifyPostback } from "./verify.ts";
export type { ConversionStatus, EventType, Reason } from "./words.ts";
