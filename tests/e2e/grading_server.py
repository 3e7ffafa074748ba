"""A verifier that grades by a hash instead of running anything, for tests of what a run makes of its verdicts."""
import hashlib
from concurrent import futures

from verifier_client import grpc, messages, services


class GradingServer(services.VerifierServicer):
    def __init__(self):
        self.server = grpc.server(futures.ThreadPoolExecutor(32))
        services.add_VerifierServicer_to_server(self, self.server)
        self.address = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()

    def is_correct(self, task, program):
        return hashlib.sha256(program.encode()).digest()[0] % 2 == 0

    def Describe(self, request, context):
        return messages.DescribeReply(backend="fake", protocol_version="8", workers=1, verified=0,
                                      protocol=messages.Protocol(trials=1, tolerance="published"))

    def Verify(self, request, context):
        correct = self.is_correct(request.task.id, request.program)
        return messages.Verdict(request_id=request.request_id, outcome=messages.OUTCOME_GRADED, reached="compare", compiled=True,
                                correct=correct, fault_class="" if correct else "wrong_value", trials=1, trials_passed=int(correct),
                                tolerance="published")
