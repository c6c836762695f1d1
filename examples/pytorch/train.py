"""A training whose gradients latecomer reduces: mpirun -n 4 python examples/pytorch/train.py"""

import time

import latecomer.torch
import torch
from mpi4py import MPI
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(1)
torch.distributed.init_process_group("gloo", init_method="mpi://")  # rank and size from MPI
network = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
model = DistributedDataParallel(network)
state = latecomer.torch.HookState(MPI.COMM_WORLD)
watched = latecomer.torch.observe(latecomer.torch.allreduce_hook)  # who is late?
model.register_comm_hook(state, watched)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(50):
    data = torch.randn(32, 64)
    if MPI.COMM_WORLD.rank == 1:
        time.sleep(0.01)  # this rank is slower than the others
    loss = torch.nn.functional.mse_loss(model(data), data.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
summary = watched.summary()  # on all ranks
if MPI.COMM_WORLD.rank == 0:
    print(f"loss {loss.item():.3g}", summary, state.stats(), sep="\n")
state.close()
torch.distributed.destroy_process_group()
