<?php
// Reports a sale: php sender.php ORDER-1001 49.90 (needs php-curl).
// No answer, or 5xx? Run it again: an order is never recorded twice, the answer is then DUPLICATE.
declare(strict_types=1);

$service = getenv('RINGBACK_URL') ?: 'https://ringback.example';
$apiKey = getenv('RINGBACK_API_KEY') ?: throw new Exception('Set RINGBACK_API_KEY.');
$secret = getenv('RINGBACK_SIGNING_SECRET') ?: throw new Exception('Set RINGBACK_SIGNING_SECRET.');
[, $orderId, $basketValue] = $argv;

$path = '/v1/conversions';
// Amounts are strings. What is sent below are the very bytes that are hashed here.
$body = json_encode(['orderId' => $orderId, 'basketValue' => $basketValue], JSON_THROW_ON_ERROR);
$timestamp = (string) time();
$nonce = bin2hex(random_bytes(16));
$signed = implode("\n", ['POST', $path, $timestamp, $nonce, hash('sha256', $body)]);

$curl = curl_init($service . $path);
curl_setopt_array($curl, [
    CURLOPT_POSTFIELDS => $body,
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_TIMEOUT => 10,
    CURLOPT_HTTPHEADER => [
        "Authorization: Bearer $apiKey",
        'Content-Type: application/json',
        "X-Service-Timestamp: $timestamp",
        "X-Service-Nonce: $nonce",
        'X-Service-Signature: ' . hash_hmac('sha256', $signed, $secret),
    ],
]);
$answer = curl_exec($curl);
$status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
echo $status, ' ', $answer === false ? curl_error($curl) : $answer, "\n";
exit($status === 200 || $status === 201 ? 0 : 1);
